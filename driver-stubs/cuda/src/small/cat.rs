//! PyTorch's concatenation kernels on small tensors of any type: bytes are moved, never looked at.
//! Layouts: CatArrInputTensorMetadata and TensorSizeStride of ATen/native/cuda/Shape.cu.

use super::counters::Skipped;
use super::elementwise::MOST_ELEMENTS;
use super::names::{self, Name};
use super::params::Params;
use super::store::{OPERATION_LIMIT_BYTES, Store};
use crate::fatbin::KernelInfo;
use crate::price::Geometry;

const MAX_DIMS: usize = 4;

/// A concatenation kernel of the table.
#[derive(Clone, Debug)]
pub(super) struct Cat {
    element_bytes: u32,
    dims: usize,
    batch: u32,
    /// Inputs may be strided, each with its sizes and strides.
    strided: bool,
    /// Elements moved at once; the output's shape is in these.
    vector: u32,
}

pub(super) fn is_frame(name: &Name) -> bool {
    names::template(&name.path).0.starts_with("CatArrayBatchedCopy")
}

pub(super) fn judge(name: &Name, kernel: &KernelInfo) -> Result<Cat, Skipped> {
    let [element, index, dims, batch, stride, rest @ ..] = name.arguments.as_slice() else {
        return Err(Skipped::NotInTable);
    };
    let element = names::template(element).1.first().and_then(|text| number(text));
    let (Some(element_bytes), Some(dims), Some(batch), Some(stride)) =
        (element, number(dims), number(batch), number(stride))
    else {
        return Err(Skipped::NotInTable);
    };
    let vector = match (names::template(&name.path).0, rest) {
        ("CatArrayBatchedCopy_vectorized", [_, vector]) => number(vector).ok_or(Skipped::NotInTable)?,
        ("CatArrayBatchedCopy" | "CatArrayBatchedCopy_contig" | "CatArrayBatchedCopy_alignedK_contig", _) => 1,
        _ => return Err(Skipped::NotInTable),
    };
    let metadata = (batch * 21).next_multiple_of(4) + 32 * stride;
    let sizes: Vec<u32> = kernel.params.iter().map(|param| param.bytes).collect();
    let known = sizes == [8, metadata.next_multiple_of(8), 32, 4, 4];
    if !known || index != "unsigned int" || dims as usize > MAX_DIMS || dims == 0 {
        return Err(Skipped::OtherLayout);
    }
    Ok(Cat { element_bytes, dims: dims as usize, batch, strided: stride > 1, vector })
}

/// `4`, `16u`, `2ul`, `(unsigned int)16`.
fn number(text: &str) -> Option<u32> {
    let text = text.rsplit(')').next().unwrap_or(text);
    text.trim_end_matches(['u', 'l']).parse().ok()
}

/// Sizes and strides of the output or of one input.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    sizes: [u64; MAX_DIMS],
    strides: [u64; MAX_DIMS],
}

impl Shape {
    fn read(params: Params<'_>, at: u32) -> Result<Shape, Skipped> {
        let mut shape = Shape::default();
        for dim in 0..MAX_DIMS {
            shape.sizes[dim] = params.u32(at + 4 * dim as u32)?.into();
            shape.strides[dim] = params.u32(at + 16 + 4 * dim as u32)?.into();
        }
        Ok(shape)
    }

    /// Offset of the linear-th element when the concatenated dimension has `size`.
    fn offset(&self, dims: usize, along: usize, size: u64, mut linear: u64) -> u64 {
        let mut offset = 0;
        for dim in (1..dims).rev() {
            let extent = if dim == along { size } else { self.sizes[dim] }.max(1);
            offset += linear % extent * self.strides[dim];
            linear /= extent;
        }
        offset + linear * self.strides[0]
    }
}

/// One input of a launch.
struct Input {
    address: u64,
    elements: u64,
    /// In output elements, where it begins and how long it is along the concatenated dimension.
    offset: u64,
    size: u64,
    shape: Option<Shape>,
}

impl Cat {
    pub(super) fn run(&self, geometry: &Geometry, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let output = params.u64(0)?;
        self.compute(geometry, params, output, store).inspect_err(|_| store.zero(output, None))
    }

    fn compute(&self, geometry: &Geometry, params: Params<'_>, output: u64, store: &mut Store) -> Result<(), Skipped> {
        let inputs = self.inputs(geometry, params)?;
        let unit = u64::from(self.element_bytes * self.vector);
        let total: u64 = inputs.iter().map(|input| input.elements).sum();
        if total > MOST_ELEMENTS || total * unit > OPERATION_LIMIT_BYTES {
            return Err(Skipped::TooLarge);
        }
        let tail = params.0.len() as u32 - 8;
        let along = params.u32(tail)? as usize;
        let out = Shape::read(params, tail - 32)?;
        for input in &inputs {
            self.place(input, &out, along, output, store)?;
        }
        Ok(())
    }

    fn inputs(&self, geometry: &Geometry, params: Params<'_>) -> Result<Vec<Input>, Skipped> {
        let count = geometry.grid[1].max(1);
        if count > self.batch {
            return Err(Skipped::UnknownArgument);
        }
        let words = 8 + 8 * self.batch;
        // dimStride, or for the vectorized kernel the trailing size.
        let scale = u64::from(params.u32(params.0.len() as u32 - 4)?);
        (0..count).map(|i| self.input(params, words, i, scale)).collect()
    }

    fn input(&self, params: Params<'_>, words: u32, i: u32, scale: u64) -> Result<Input, Skipped> {
        let word = |row: u32| params.u32(words + 4 * (row * self.batch + i)).map(u64::from);
        let vector = u64::from(self.vector);
        let offset = word(0)? * scale;
        let size = if vector > 1 { word(1)? * scale / vector } else { word(1)? };
        let contiguous = words + 12 * self.batch;
        let shapes = (contiguous + self.batch).next_multiple_of(4);
        let strided = self.strided && params.u8(contiguous + i)? == 0;
        let shape = if strided { Some(Shape::read(params, shapes + 32 * i)?) } else { None };
        let address = params.u64(8 + 8 * i)?;
        Ok(Input { address, elements: word(2)? / vector, offset: offset / vector, size, shape })
    }

    fn place(&self, input: &Input, out: &Shape, along: usize, output: u64, store: &mut Store) -> Result<(), Skipped> {
        if input.elements == 0 {
            return Ok(());
        }
        let unit = u64::from(self.element_bytes * self.vector);
        let at = |shape: &Shape, linear| shape.offset(self.dims, along, input.size, linear);
        let from = |linear| input.shape.as_ref().map_or(linear, |shape| at(shape, linear));
        let farthest = (0..input.elements).map(from).max().unwrap_or(0);
        let last = (0..input.elements).map(|linear| at(out, linear)).max().unwrap_or(0);
        if (farthest + 1).max(last + 1) * unit > OPERATION_LIMIT_BYTES {
            return Err(Skipped::TooLarge);
        }
        let target = output + input.offset * unit;
        let mut source = vec![0; ((farthest + 1) * unit) as usize];
        store.read(input.address, &mut source);
        let mut placed = vec![0; ((last + 1) * unit) as usize];
        if last + 1 != input.elements {
            store.read(target, &mut placed);
        }
        let unit = unit as usize;
        for linear in 0..input.elements {
            let (source_at, placed_at) = (from(linear) as usize * unit, at(out, linear) as usize * unit);
            placed[placed_at..placed_at + unit].copy_from_slice(&source[source_at..source_at + unit]);
        }
        store.write(target, &placed);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
