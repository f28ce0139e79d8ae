//! Fused attention: FlashAttention 2 (torch's copy and the package's) and the memory-efficient kernels of CUTLASS.
//! Sequences of different lengths in one launch are all taken to be as long as the longest.
//!
//! Sources: FlashAttention's public flash.h (heads at byte 96 of its one parameter, then batch at 176, query and key
//! lengths at 180 and 184, head dimension at 192) and torch 2.15's kernel_forward.h and kernel_backward.h for the others.
//! Values are taken only if they agree with the grid. Otherwise batch and heads are the grid's, the query
//! length is the grid times the tile in the name, and keys are as many as queries. The model's rates are those of the
//! best library; FlashAttention 2 on Blackwell is slower (facts: 1.2 to 2 times), which is not modelled here.

use ghost_model::cost::{Attention as Problem, DType, Operation};

use super::name::{Name, number};
use super::traffic::Traffic;
use super::{Geometry, read_count};
use crate::fatbin::KernelInfo;

const MOST: u64 = 1 << 24;
/// Arithmetic of a launch that is believed: half a minute of a GB200.
const MOST_FLOPS: u64 = 1 << 56;

/// Where a kernel keeps its sizes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    batch: Option<u32>,
    heads: Option<u32>,
    seq_q: u32,
    seq_k: u32,
    head_dim: u32,
    /// A byte that is not zero if the mask is causal.
    causal: Option<u32>,
}

const FLASH: Layout = Layout { batch: Some(176), heads: Some(96), seq_q: 180, seq_k: 184, head_dim: 192, causal: None };
const CUTLASS_FORWARD: Layout =
    Layout { batch: None, heads: None, seq_q: 104, seq_k: 108, head_dim: 96, causal: Some(116) };
const CUTLASS_BACKWARD: Layout =
    Layout { batch: None, heads: Some(160), seq_q: 152, seq_k: 156, head_dim: 144, causal: Some(168) };

/// What part of attention a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Forward,
    Backward,
    /// A pass over tensors of the query's shape: bytes read and written for each of their elements.
    Pass {
        read: u8,
        written: u8,
    },
}

/// An attention kernel.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    part: Part,
    layout: Layout,
    causal: bool,
    dtype: DType,
    head_dim: u32,
    /// Rows of queries (in a backward kernel: keys) of one block.
    tile: u32,
}

impl Attention {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Attention> {
        if kernel.params.len() > 2 {
            return None;
        }
        Attention::flash(name).or_else(|| Attention::cutlass(name))
    }

    fn flash(name: &Name) -> Option<Attention> {
        // Which of the switches behind the traits says "causal".
        let (part, place) = match name.base {
            "flash_fwd_kernel" => (Part::Forward, 1),
            "flash_fwd_splitkv_kernel" => (Part::Forward, 0),
            "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel" => (Part::Backward, 1),
            // Partial results of about four splits, in single precision.
            "flash_fwd_splitkv_combine_kernel" => (Part::Pass { read: 16, written: 2 }, 9),
            "flash_bwd_dot_do_o_kernel" => (Part::Pass { read: 4, written: 4 }, 9),
            "flash_bwd_convert_dq_kernel" => (Part::Pass { read: 4, written: 2 }, 9),
            _ => return None,
        };
        let traits = name.after("kernel_traitsILi")?;
        let tile = traits.find("ELi").map_or("", |at| &traits[at + 3..]);
        let switches = name.all.find("EELb").map_or("", |at| &name.all[at + 2..]);
        Some(Attention {
            part,
            layout: FLASH,
            causal: switches.get(place * 4..place * 4 + 4) == Some("Lb1E"),
            dtype: if name.has("bfloat16_t") { DType::Bf16 } else { DType::Fp16 },
            head_dim: number(traits)?,
            tile: number(tile).unwrap_or(64),
        })
    }

    fn cutlass(name: &Name) -> Option<Attention> {
        let (part, layout) = match name.base.strip_prefix("fmha_cutlass")?.as_bytes().first()? {
            b'F' => (Part::Forward, CUTLASS_FORWARD),
            b'B' => (Part::Backward, CUTLASS_BACKWARD),
            _ => return None,
        };
        let dtype = match name.base {
            base if base.contains("_bf16_") => DType::Bf16,
            base if base.contains("_f16_") => DType::Fp16,
            // Single precision on tensor cores.
            _ => DType::Tf32,
        };
        let tile = name.after("aligned_").and_then(number).unwrap_or(64);
        let head_dim = name.after("_k").and_then(number).unwrap_or(128).min(256);
        Some(Attention { part, layout, causal: false, dtype, head_dim, tile })
    }

    /// Prices one launch.
    pub fn operation(&self, geometry: &Geometry, params: &[u8]) -> Operation {
        let problem = self.problem(geometry, params).unwrap_or_else(|| self.guess(geometry));
        match self.part {
            Part::Forward | Part::Backward => Operation::Attention(problem),
            Part::Pass { read, written } => {
                let rows = problem.batch.saturating_mul(problem.heads).saturating_mul(problem.seq_q);
                let elements = rows.saturating_mul(problem.head_dim);
                let [bytes_read, bytes_written] = [read, written].map(|each| elements.saturating_mul(u64::from(each)));
                Traffic { bytes_read, bytes_written, flops: elements }.operation(geometry)
            }
        }
    }

    fn problem(&self, geometry: &Geometry, params: &[u8]) -> Option<Problem> {
        let size = |at: u32| read_count(params, at as usize).filter(|size| (1..=MOST).contains(size));
        let grid = geometry.grid.map(|n| u64::from(n.max(1)));
        let batch = self.layout.batch.map_or(Some(grid[2]), size)?;
        let heads = self.layout.heads.map_or(Some(grid[1]), size)?;
        // Splits of the keys multiply one of the grid's dimensions.
        let whole = grid[1].saturating_mul(grid[2]) % batch.saturating_mul(heads) == 0;
        let own_grid = matches!(self.part, Part::Pass { .. });
        if !whole && !own_grid {
            return None;
        }
        let (seq_q, seq_k) = (size(self.layout.seq_q)?, size(self.layout.seq_k)?);
        let head_dim = size(self.layout.head_dim).filter(|&size| size <= 1024)?;
        if self.part == Part::Forward && seq_q.div_ceil(u64::from(self.tile.max(1))) != grid[0] {
            return None;
        }
        let flops = [batch, heads, seq_q, seq_k, head_dim].iter().fold(4_u64, |all, &size| all.saturating_mul(size));
        if flops > MOST_FLOPS {
            return None;
        }
        let masked = self.layout.causal.and_then(|at| params.get(at as usize)).is_some_and(|&mask| mask != 0);
        Some(Problem { batch, heads, seq_q, seq_k, head_dim, ..self.blank(self.causal || masked) })
    }

    fn guess(&self, geometry: &Geometry) -> Problem {
        let grid = geometry.grid.map(|n| u64::from(n.max(1)));
        let sequence = grid[0].saturating_mul(u64::from(self.tile)).min(MOST);
        Problem {
            batch: grid[1].min(MOST),
            heads: grid[2].min(MOST),
            seq_q: sequence,
            seq_k: sequence,
            head_dim: u64::from(self.head_dim.clamp(1, 1024)),
            ..self.blank(self.causal)
        }
    }

    fn blank(&self, causal: bool) -> Problem {
        let backward = self.part == Part::Backward;
        Problem { batch: 1, heads: 1, seq_q: 1, seq_k: 1, head_dim: 1, causal, dtype: self.dtype, backward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORWARD: &str = "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi64ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traitsILi128ELi128ELi64ELi4ES3_EELb0ELb1ELb0ELb0ELb0ELb1ELb0ELb0EEEvNS_16Flash_fwd_paramsE";
    const BACKWARD: &str = "_ZN13pytorch_flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_traitsILi128ELi64ELi64ELi8ELi4ELi2ELi2ELb1ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi128ELi64ELi64ELi8ES3_EELb1ELb0ELb0ELb0ELb0ELb1ELb0EEEvNS_16Flash_bwd_paramsE";
    const CUTLASS: &str = "_Z40fmha_cutlassB_f32_aligned_64x64_k32_sm50N22PyTorchMemEffAttention23AttentionBackwardKernelIN7cutlass4arch4Sm50EfLb1ELb0ELb0ELi64ELi64ELi32ELb0EE6ParamsE";

    fn priced(name: &str, grid: [u32; 3], values: &[(usize, i32)]) -> Problem {
        let kernel = KernelInfo { name: name.to_owned(), ..KernelInfo::default() };
        let mut params = vec![0; 656];
        for &(at, value) in values {
            params[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let geometry = Geometry { grid, block: [128, 1, 1], shared_bytes: 0 };
        let attention = Attention::of(&Name::of(name), &kernel).unwrap();
        let Operation::Attention(problem) = attention.operation(&geometry, &params) else { panic!("not attention") };
        problem
    }

    #[test]
    fn flash_attention_tells_its_sizes() {
        let values = [(96, 32), (100, 8), (176, 2), (180, 4000), (184, 4096), (192, 128)];
        let expected = Problem {
            batch: 2,
            heads: 32,
            seq_q: 4000,
            seq_k: 4096,
            head_dim: 128,
            causal: true,
            dtype: DType::Bf16,
            backward: false,
        };
        assert_eq!(priced(FORWARD, [32, 2, 32], &values), expected);
        let backward = priced(BACKWARD, [32, 2, 32], &values);
        assert_eq!((backward.backward, backward.causal, backward.dtype), (true, false, DType::Fp16));
    }

    #[test]
    fn sizes_that_contradict_the_grid_are_not_believed() {
        let values = [(96, 32), (176, 3), (180, 4000), (184, 4096), (192, 128)];
        let guess = priced(FORWARD, [32, 2, 31], &values);
        assert_eq!((guess.batch, guess.heads, guess.seq_q, guess.seq_k, guess.head_dim), (2, 31, 4096, 4096, 128));
    }

    #[test]
    fn memory_efficient_attention_tells_its_sizes() {
        let problem = priced(CUTLASS, [1, 16, 4], &[(144, 32), (152, 200), (156, 300), (160, 16), (168, 1)]);
        assert_eq!((problem.batch, problem.heads, problem.seq_q, problem.seq_k), (4, 16, 200, 300));
        assert!(problem.causal && problem.backward && problem.dtype == DType::Tf32);
    }
}
