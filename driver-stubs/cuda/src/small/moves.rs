//! Kernels that move elements by indices: index, index_put, flip, gather, scatter, index_select on small tensors.
//! Elements are moved as bytes; only the indices are looked at.

use super::counters::Skipped;
use super::elementwise::MOST_ELEMENTS;
use super::functor::Layout;
use super::names::{self, Name};
use super::params::{Grid, Params, calculator_bytes};
use super::pointers::is_device;
use super::scalar::{Num, Scalar};
use super::store::{OPERATION_LIMIT_BYTES, Store};
use super::tensor_info::TensorInfo;
use crate::fatbin::KernelInfo;

/// A moving kernel of the table.
#[derive(Clone, Debug)]
pub(super) struct Moves {
    kind: Kind,
    element_bytes: usize,
    index: Scalar,
    /// Where the lambda lies; the count is the first parameter.
    lambda_at: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// out[i] = in[indices]
    Index,
    /// out[indices] = in[i]
    IndexPut,
    Flip,
    /// out[i] = in[index[i]]
    Gather,
    /// out[index[i]] = in[i]
    Scatter,
    /// Whole slices.
    GatherSlices,
    IndexSelect,
}

/// Most tensors of indices of one `index` kernel.
const MOST_INDICES: usize = 25;

/// One element on its way: byte offsets from the output's and the input's pointer.
type Move = (i64, i64);

/// Everything one launch moves.
struct Launch {
    output: u64,
    input: u64,
    moves: Vec<Move>,
    bytes: usize,
}

pub(super) fn is_frame(name: &Name) -> bool {
    matches!(
        names::template(&name.path).0,
        "index_elementwise_kernel"
            | "_scatter_gather_elementwise_kernel"
            | "vectorized_gather_kernel"
            | "indexSelectSmallIndex"
            | "indexSelectLargeIndex"
    )
}

pub(super) fn judge(name: &Name, kernel: &KernelInfo) -> Result<Moves, Skipped> {
    match names::template(&name.path).0 {
        "vectorized_gather_kernel" => slices(name, kernel),
        "index_elementwise_kernel" | "_scatter_gather_elementwise_kernel" => by_lambda(name, kernel),
        _ => select(name, kernel),
    }
}

/// `(char* out, char* in, index_t* index, int n, slice, dim size, in stride, out stride, bool negative)`.
fn slices(name: &Name, kernel: &KernelInfo) -> Result<Moves, Skipped> {
    let index = name.arguments.get(1).and_then(|text| Scalar::named(text)).ok_or(Skipped::NotInTable)?;
    let sizes: Vec<u32> = kernel.params.iter().map(|param| param.bytes).collect();
    if sizes != [8, 8, 8, 4, 8, 8, 8, 8, 1] {
        return Err(Skipped::OtherLayout);
    }
    Ok(Moves { kind: Kind::GatherSlices, element_bytes: 1, index, lambda_at: 0 })
}

/// `(TensorInfo out, TensorInfo in, TensorInfo index, int, int, ...)`.
fn select(name: &Name, kernel: &KernelInfo) -> Result<Moves, Skipped> {
    let scalar = |i: usize| name.arguments.get(i).and_then(|text| Scalar::named(text)).ok_or(Skipped::NotInTable);
    let (element, index) = (scalar(0)?, scalar(1)?);
    if name.arguments.get(2).is_none_or(|text| text != "unsigned int") {
        return Err(Skipped::NotInTable);
    }
    let info = TensorInfo::BYTES;
    let starts = kernel.params.iter().take(5).map(|param| (param.offset, param.bytes));
    if !starts.eq([(0, info), (info, info), (2 * info, info), (3 * info, 4), (3 * info + 4, 4)]) {
        return Err(Skipped::OtherLayout);
    }
    Ok(Moves { kind: Kind::IndexSelect, element_bytes: element.bytes(), index, lambda_at: 0 })
}

fn by_lambda(name: &Name, kernel: &KernelInfo) -> Result<Moves, Skipped> {
    let text = name.arguments.get(2).ok_or(Skipped::NotInTable)?;
    let lambda = names::lambda(text).ok_or(Skipped::NotInTable)?;
    let head = text.split("::operator()<").next().unwrap_or(text);
    let (kind, element, index) = match lambda.function.as_str() {
        "flip_kernel_impl" => (Kind::Flip, lambda.function_arguments.first().cloned(), Scalar::I64),
        "gpu_index_kernel" => {
            let inner = lambda.function_arguments.first().and_then(|text| names::lambda(text));
            let inner = inner.ok_or(Skipped::NotInTable)?;
            let kind = match inner.function.as_str() {
                "index_kernel_impl" => Kind::Index,
                "index_put_kernel_impl" => Kind::IndexPut,
                _ => return Err(Skipped::NotInTable),
            };
            (kind, inner.function_arguments.first().cloned(), Scalar::I64)
        }
        _ if text.contains("::operator()<at::native::TensorAssign>") => assigning(head)?,
        _ => return Err(Skipped::NotInTable),
    };
    let element_bytes = element.as_deref().and_then(opaque_bytes).ok_or(Skipped::NotInTable)?;
    let lambda = match kernel.params.as_slice() {
        [_, lambda] if lambda.bytes == kind.lambda_bytes() => lambda.offset,
        _ => return Err(Skipped::OtherLayout),
    };
    Ok(Moves { kind, element_bytes: element_bytes as usize, index, lambda_at: lambda })
}

/// `_cuda_scatter_gather_internal_kernel<is scatter, element, index>`.
fn assigning(head: &str) -> Result<(Kind, Option<String>, Scalar), Skipped> {
    let (class, arguments) = names::template(head.strip_prefix("void ").unwrap_or(head));
    let (kind, rest) = match (class, arguments.as_slice()) {
        ("_cuda_scatter_gather_internal_kernel", [like, rest @ ..]) if like == "true" => (Kind::Scatter, rest),
        ("_cuda_scatter_gather_internal_kernel", [_, rest @ ..]) => (Kind::Gather, rest),
        _ => return Err(Skipped::NotInTable),
    };
    let index = rest.get(1).and_then(|text| Scalar::named(text)).ok_or(Skipped::NotInTable)?;
    Ok((kind, rest.first().cloned(), index))
}

/// `OpaqueType<8>`.
fn opaque_bytes(text: &str) -> Option<u32> {
    let (class, arguments) = names::template(text);
    let bytes = arguments.first()?.rsplit(')').next()?.parse().ok()?;
    (class == "OpaqueType" && bytes <= 16).then_some(bytes)
}

impl Kind {
    /// Size of the device lambda; its members are told where they are read.
    fn lambda_bytes(self) -> u32 {
        let mut layout = Layout::EMPTY;
        let (tensors, words) = match self {
            Kind::Flip => (2, 2),
            Kind::Index | Kind::IndexPut => (3, 3 + 3 * MOST_INDICES as u32),
            _ => (3, 6),
        };
        layout.add(calculator_bytes(tensors), 4);
        layout.add(8 * words, 8);
        if self != Kind::Flip {
            layout.add(1, 1);
        }
        layout.bytes()
    }
}

impl Moves {
    pub(super) fn run(&self, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let launch = self.launch(params, store);
        let done = launch.and_then(|launch| launch.carry_out(store).map_err(|reason| (reason, launch.output)));
        done.map_err(|(reason, output)| {
            if is_device(output) {
                store.zero(output, None);
            }
            reason
        })
    }

    /// An error comes with the output, as far as it was found.
    fn launch(&self, params: Params<'_>, store: &Store) -> Result<Launch, (Skipped, u64)> {
        let output = self.output(params).map_err(|reason| (reason, 0))?;
        let found = match self.kind {
            Kind::GatherSlices => self.slices(params, store),
            Kind::IndexSelect => self.select(params, store),
            Kind::Flip => self.flip(params),
            Kind::Index | Kind::IndexPut => self.index(params, store),
            _ => self.assign(params, store),
        };
        let (input, moves) = found.map_err(|reason| (reason, output))?;
        let bytes = match self.kind {
            Kind::GatherSlices => params.u64(32).map_err(|reason| (reason, output))? as usize,
            _ => self.element_bytes,
        };
        Ok(Launch { output, input, moves, bytes })
    }

    /// Where the pointers of the assigning lambdas begin: behind the index pointer, its size and perhaps the assignment.
    fn assignment_at(&self, params: Params<'_>) -> Result<u32, Skipped> {
        let words = self.lambda_at + calculator_bytes(3).next_multiple_of(8);
        for at in [words + 24, words + 16] {
            if is_device(params.u64(at)?) && is_device(params.u64(at + 24)?) {
                return Ok(at);
            }
        }
        Err(Skipped::UnknownArgument)
    }

    fn output(&self, params: Params<'_>) -> Result<u64, Skipped> {
        let lambda = self.lambda_at;
        match self.kind {
            Kind::GatherSlices | Kind::IndexSelect => params.u64(0),
            Kind::Flip => params.u64(lambda + calculator_bytes(2)),
            Kind::Index | Kind::IndexPut => params.u64(lambda + calculator_bytes(3).next_multiple_of(8)),
            _ => params.u64(self.assignment_at(params)?),
        }
    }

    fn grid(&self, params: Params<'_>, tensors: u32) -> Result<Grid, Skipped> {
        let count = params.u32(0)?;
        let grid = Grid::read(params, self.lambda_at, tensors)?;
        match grid.elements() {
            elements if elements != u64::from(count) => Err(Skipped::UnknownArgument),
            elements if elements > MOST_ELEMENTS => Err(Skipped::TooLarge),
            _ => Ok(grid),
        }
    }

    /// The index at `address`, a negative one counted from `size`.
    fn index_at(&self, store: &Store, address: u64, size: i64) -> Result<i64, Skipped> {
        let mut word = [0; 8];
        store.read(address, &mut word[..self.index.bytes()]);
        let Num::Int(index) = self.index.load(&word) else { return Err(Skipped::UnknownArgument) };
        let index = index as i64;
        let index = if index < 0 { index + size } else { index };
        if (0..size).contains(&index) { Ok(index) } else { Err(Skipped::UnknownArgument) }
    }

    fn flip(&self, params: Params<'_>) -> Result<(u64, Vec<Move>), Skipped> {
        let grid = self.grid(params, 2)?;
        let input = params.u64(self.lambda_at + calculator_bytes(2) + 8)?;
        let moved = |i| (grid.signed_offset(i, 0), grid.signed_offset(i, 1));
        Ok((input, (0..grid.elements()).map(moved).collect()))
    }

    /// Behind the shape: output, input, how many indices, then their pointers, sizes and byte strides, 25 of each.
    fn index(&self, params: Params<'_>, store: &Store) -> Result<(u64, Vec<Move>), Skipped> {
        let grid = self.grid(params, 3)?;
        let words = self.lambda_at + calculator_bytes(3).next_multiple_of(8);
        let count = params.u64(words + 16)?;
        if count == 0 || count > MOST_INDICES as u64 {
            return Err(Skipped::UnknownArgument);
        }
        let mut moves = Vec::with_capacity(grid.elements() as usize);
        for element in 0..grid.elements() {
            let mut offset = 0;
            for i in 0..count as u32 {
                let row = |row: u32| params.u64(words + 24 + 8 * (25 * row + i));
                let address = row(0)?.wrapping_add(grid.offset(element, 2) as u64);
                if !is_device(address) {
                    return Err(Skipped::UnknownArgument);
                }
                offset += self.index_at(store, address, row(1)? as i64)? * row(2)? as i64;
            }
            let (out, source) = (grid.offset(element, 0) as i64, grid.offset(element, 1) as i64);
            moves.push(if self.kind == Kind::Index { (out, source + offset) } else { (out + offset, source) });
        }
        Ok((params.u64(words + 8)?, moves))
    }

    /// Gather and scatter: self, index stride, number of elements, then source.
    fn assign(&self, params: Params<'_>, store: &Store) -> Result<(u64, Vec<Move>), Skipped> {
        let grid = self.grid(params, 3)?;
        let words = self.lambda_at + calculator_bytes(3).next_multiple_of(8);
        let (indices, size) = (params.u64(words)?, params.u64(words + 8)? as i64);
        let at = self.assignment_at(params)?;
        let stride = params.u64(at + 8)? as i64 * self.element_bytes as i64;
        if !is_device(indices) {
            return Err(Skipped::UnknownArgument);
        }
        let mut moves = Vec::with_capacity(grid.elements() as usize);
        for element in 0..grid.elements() {
            let address = indices + grid.offset(element, 2) as u64;
            let offset = self.index_at(store, address, size)? * stride;
            let (out, source) = (grid.offset(element, 0) as i64, grid.offset(element, 1) as i64);
            moves.push(if self.kind == Kind::Gather { (out, source + offset) } else { (out + offset, source) });
        }
        Ok((params.u64(at + 24)?, moves))
    }

    fn slices(&self, params: Params<'_>, store: &Store) -> Result<(u64, Vec<Move>), Skipped> {
        let (count, indices) = (params.u32(24)?, params.u64(16)?);
        let (size, from, to) = (params.u64(40)? as i64, params.u64(48)? as i64, params.u64(56)? as i64);
        if u64::from(count) > MOST_ELEMENTS {
            return Err(Skipped::TooLarge);
        }
        let step = self.index.bytes() as u64;
        let moved = |i: u32| {
            let index = self.index_at(store, indices + step * u64::from(i), size)?;
            Ok((i64::from(i) * to, index * from))
        };
        Ok((params.u64(8)?, (0..count).map(moved).collect::<Result<_, _>>()?))
    }

    fn select(&self, params: Params<'_>, store: &Store) -> Result<(u64, Vec<Move>), Skipped> {
        let info = TensorInfo::BYTES;
        let out = TensorInfo::read(params, 0)?;
        let source = TensorInfo::read(params, info)?;
        let index = TensorInfo::read(params, 2 * info)?;
        let (out_dim, source_dim) = (params.u32(3 * info)? as usize, params.u32(3 * info + 4)? as usize);
        // The kernel is handed shapes whose selected dimension is one long.
        let inner = out.elements();
        if inner.saturating_mul(index.elements()) > MOST_ELEMENTS {
            return Err(Skipped::TooLarge);
        }
        let size = i64::from(i32::MAX);
        let bytes = self.element_bytes as i64;
        let mut moves = Vec::with_capacity((inner * index.elements()) as usize);
        for i in 0..index.elements() {
            let at = index.data + index.offset(i) as u64 * self.index.bytes() as u64;
            let chosen = self.index_at(store, at, size)?;
            for linear in 0..inner {
                let to = out.offset(linear) + i as i64 * out.stride(out_dim)?;
                let from = source.offset(linear) + chosen * source.stride(source_dim)?;
                moves.push((to * bytes, from * bytes));
            }
        }
        Ok((source.data, moves))
    }
}

impl Launch {
    fn carry_out(&self, store: &mut Store) -> Result<(), Skipped> {
        let span = |offsets: &mut dyn Iterator<Item = i64>| {
            offsets.fold(None, |span: Option<(i64, i64)>, at| match span {
                Some((low, high)) => Some((low.min(at), high.max(at))),
                None => Some((at, at)),
            })
        };
        let (Some(to), Some(from)) =
            (span(&mut self.moves.iter().map(|m| m.0)), span(&mut self.moves.iter().map(|m| m.1)))
        else {
            return Ok(());
        };
        let extent = |(low, high): (i64, i64)| (high - low) as u64 + self.bytes as u64;
        if extent(to).max(extent(from)) > OPERATION_LIMIT_BYTES {
            return Err(Skipped::TooLarge);
        }
        let target = self.output.wrapping_add_signed(to.0);
        let mut source = vec![0; extent(from) as usize];
        let mut held = vec![0; extent(to) as usize];
        store.read(self.input.wrapping_add_signed(from.0), &mut source);
        store.read(target, &mut held);
        for &(to_at, from_at) in &self.moves {
            let (to_at, from_at) = ((to_at - to.0) as usize, (from_at - from.0) as usize);
            held[to_at..to_at + self.bytes].copy_from_slice(&source[from_at..from_at + self.bytes]);
        }
        store.write(target, &held);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
