//! Filling memory with random numbers: on the device as a kernel whose result reads zero, on the host for real.
//! Costs are the bytes written and the arithmetic of a Philox round and the transformation.

use crate::generator::Generator;
use crate::host::Random;
use crate::{Curand, Error};
use ghost_abi::Plain;
use ghost_blas::{DataType, Of, Ptr, kernel, submit};

ghost_abi::rows! { Curand;
    fn curandGenerate(generator: Of<Generator>, output: Ptr<u32>, count: usize) => bits32;
    fn curandGenerateLongLong(generator: Of<Generator>, output: Ptr<u64>, count: usize) => bits64;
    fn curandGenerateUniform(generator: Of<Generator>, output: Ptr<f32>, count: usize) => uniform;
    fn curandGenerateUniformDouble(generator: Of<Generator>, output: Ptr<f64>, count: usize) => uniform_double;
    fn curandGenerateNormal(generator: Of<Generator>, output: Ptr<f32>, count: usize, mean: f32, spread: f32)
        => normal;
    fn curandGenerateNormalDouble(generator: Of<Generator>, output: Ptr<f64>, count: usize, mean: f64, spread: f64)
        => normal_double;
    fn curandGenerateLogNormal(generator: Of<Generator>, output: Ptr<f32>, count: usize, mean: f32, spread: f32)
        => log_normal;
    fn curandGenerateLogNormalDouble(generator: Of<Generator>, output: Ptr<f64>, count: usize, mean: f64, spread: f64)
        => log_normal_double;
    fn curandGeneratePoisson(generator: Of<Generator>, output: Ptr<u32>, count: usize, lambda: f64) => poisson;
    fn curandGeneratePoissonMethod(generator: Of<Generator>, output: Ptr<u32>, count: usize, lambda: f64, method: i32)
        => poisson_method;
}

/// Operations of ten Philox rounds, for each number of the four they make.
const ROUNDS_FLOPS: u64 = 20;

/// Operations of a logarithm, a root and a cosine.
const NORMAL_FLOPS: u64 = 30;

/// Fills `count` values: on the host with `next`, on the device with a kernel.
fn fill<T: Plain>(
    generator: Of<Generator>,
    output: Ptr<T>,
    count: usize,
    flops: u64,
    next: impl Fn(&mut Random) -> T,
) -> Result<(), Error> {
    let (is_host, stream, step) = generator.with(|generator| {
        (generator.is_host, generator.stream, if generator.is_quasi() { generator.dimensions as usize } else { 1 })
    })?;
    if !count.is_multiple_of(step) {
        return Err(Error::LengthNotMultiple);
    }
    if count == 0 {
        return Ok(());
    }
    output.check()?;
    if is_host {
        return generator.with(|generator| write(output, count, &mut generator.random, next))?;
    }
    let kind = if size_of::<T>() == 8 { DataType::R_64F } else { DataType::R_32F };
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let operation = kernel(c"curand_generate", kind, [0, bytes, (count as u64).saturating_mul(flops)]);
    Ok(submit(stream, &operation.writes(output.address(), bytes))?)
}

fn write<T: Plain>(
    output: Ptr<T>,
    count: usize,
    random: &mut Random,
    next: impl Fn(&mut Random) -> T,
) -> Result<(), Error> {
    (0..count).try_for_each(|index| Ok(output.at(index).store(next(random))?))
}

/// Normal numbers come in pairs from a pseudo-random generator.
fn pairs(generator: Of<Generator>, count: usize) -> Result<(), Error> {
    let is_quasi = generator.with(|generator| generator.is_quasi())?;
    if is_quasi || count.is_multiple_of(2) { Ok(()) } else { Err(Error::LengthNotMultiple) }
}

fn bits32(generator: Of<Generator>, output: Ptr<u32>, count: usize) -> Result<(), Error> {
    // Only the 32-bit Sobol generators among the quasi-random ones make these.
    if generator.with(|generator| generator.kind >= 203)? {
        return Err(Error::TypeError);
    }
    fill(generator, output, count, ROUNDS_FLOPS, |random| (random.bits() >> 32) as u32)
}

fn bits64(generator: Of<Generator>, output: Ptr<u64>, count: usize) -> Result<(), Error> {
    if generator.with(|generator| generator.kind < 203)? {
        return Err(Error::TypeError);
    }
    fill(generator, output, count, ROUNDS_FLOPS, Random::bits)
}

fn uniform(generator: Of<Generator>, output: Ptr<f32>, count: usize) -> Result<(), Error> {
    fill(generator, output, count, ROUNDS_FLOPS, |random| random.uniform() as f32)
}

fn uniform_double(generator: Of<Generator>, output: Ptr<f64>, count: usize) -> Result<(), Error> {
    fill(generator, output, count, ROUNDS_FLOPS, Random::uniform)
}

fn normal(generator: Of<Generator>, output: Ptr<f32>, count: usize, mean: f32, spread: f32) -> Result<(), Error> {
    pairs(generator, count)?;
    fill(generator, output, count, ROUNDS_FLOPS + NORMAL_FLOPS, |random| mean + spread * random.normal() as f32)
}

fn normal_double(
    generator: Of<Generator>,
    output: Ptr<f64>,
    count: usize,
    mean: f64,
    spread: f64,
) -> Result<(), Error> {
    pairs(generator, count)?;
    fill(generator, output, count, ROUNDS_FLOPS + NORMAL_FLOPS, |random| mean + spread * random.normal())
}

fn log_normal(generator: Of<Generator>, output: Ptr<f32>, count: usize, mean: f32, spread: f32) -> Result<(), Error> {
    pairs(generator, count)?;
    let flops = ROUNDS_FLOPS + 2 * NORMAL_FLOPS;
    fill(generator, output, count, flops, |random| (mean + spread * random.normal() as f32).exp())
}

fn log_normal_double(
    generator: Of<Generator>,
    output: Ptr<f64>,
    count: usize,
    mean: f64,
    spread: f64,
) -> Result<(), Error> {
    pairs(generator, count)?;
    let flops = ROUNDS_FLOPS + 2 * NORMAL_FLOPS;
    fill(generator, output, count, flops, |random| (mean + spread * random.normal()).exp())
}

fn poisson(generator: Of<Generator>, output: Ptr<u32>, count: usize, lambda: f64) -> Result<(), Error> {
    if !(lambda > 0.0 && lambda <= 400_000.0) {
        return Err(Error::OutOfRange);
    }
    fill(generator, output, count, ROUNDS_FLOPS + NORMAL_FLOPS, |random| random.poisson(lambda))
}

fn poisson_method(
    generator: Of<Generator>,
    output: Ptr<u32>,
    count: usize,
    lambda: f64,
    method: i32,
) -> Result<(), Error> {
    if !(0..=13).contains(&method) {
        return Err(Error::OutOfRange);
    }
    poisson(generator, output, count, lambda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_blas::Stream;

    fn generator(kind: i32, dimensions: u32) -> Of<Generator> {
        let (stream, random) = (Stream::default(), Random::new(3));
        Of::create(Generator { kind, is_host: true, stream, seed: 3, dimensions, random })
    }

    fn place<T>(values: &mut [T]) -> Ptr<T> {
        // SAFETY: the tests keep `values` for longer than the call.
        unsafe { Ptr::from_raw(values.as_mut_ptr()) }
    }

    #[test]
    fn host_numbers_are_written_all() {
        let mut numbers = [0.0_f32; 64];
        assert_eq!(uniform(generator(100, 1), place(&mut numbers), 64), Ok(()));
        assert!(numbers.iter().all(|&number| number > 0.0 && number <= 1.0));
        let mut bits = [0_u32; 64];
        assert_eq!(bits32(generator(161, 1), place(&mut bits), 64), Ok(()));
        assert!(bits.iter().filter(|&&word| word == 0).count() < 2);
    }

    #[test]
    fn lengths_and_types_are_checked() {
        let mut numbers = [0.0_f32; 8];
        assert_eq!(normal(generator(100, 1), place(&mut numbers), 7, 0.0, 1.0), Err(Error::LengthNotMultiple));
        assert_eq!(uniform(generator(201, 3), place(&mut numbers), 8), Err(Error::LengthNotMultiple));
        let mut bits = [0_u64; 8];
        assert_eq!(bits64(generator(100, 1), place(&mut bits), 8), Err(Error::TypeError));
        let mut counts = [0_u32; 8];
        assert_eq!(poisson(generator(100, 1), place(&mut counts), 8, -1.0), Err(Error::OutOfRange));
        assert_eq!(uniform(generator(100, 1), place(&mut numbers[..0]), 0), Ok(()));
    }
}
