//! Generators, their settings, and discrete distributions.
//! It generates nothing.

use crate::host::Random;
use crate::{Curand, Error};
use ghost_abi::Out;
use ghost_blas::{Of, Stream, kept, start_driver};

ghost_abi::rows! { Curand;
    fn curandCreateGenerator(generator: Out<Of<Generator>>, kind: i32) => create;
    fn curandCreateGeneratorHost(generator: Out<Of<Generator>>, kind: i32) => create_host;
    fn curandDestroyGenerator(generator: Of<Generator>) => destroy;
    fn curandSetStream(generator: Of<Generator>, stream: Stream) => set_stream;
    fn curandSetPseudoRandomGeneratorSeed(generator: Of<Generator>, seed: u64) => set_seed;
    fn curandSetGeneratorOffset(generator: Of<Generator>, offset: u64) => set_offset;
    fn curandSetGeneratorOrdering(generator: Of<Generator>, order: i32) => set_ordering;
    fn curandSetQuasiRandomGeneratorDimensions(generator: Of<Generator>, dimensions: u32) => set_dimensions;
    fn curandGenerateSeeds(generator: Of<Generator>) => seeds;
    fn curandCreatePoissonDistribution(lambda: f64, distribution: Out<Of<Poisson>>) => create_poisson;
    fn curandDestroyDistribution(distribution: Of<Poisson>) => destroy_poisson;
}

/// What a `curandGenerator_t` keeps.
#[derive(Clone, Debug)]
pub struct Generator {
    /// A `curandRngType_t`.
    pub kind: i32,
    /// Whether results are host memory.
    pub is_host: bool,
    pub stream: Stream,
    pub seed: u64,
    pub dimensions: u32,
    /// The sequence of a host generator.
    pub random: Random,
}

/// A `curandDiscreteDistribution_t`.
#[derive(Clone, Copy, Debug)]
pub struct Poisson {
    pub lambda: f64,
}

kept! {
    Generator: b"gh.crand";
    Poisson: b"gh.crdst";
}

impl Generator {
    /// Quasi-random sequences have dimensions, pseudo-random ones a seed.
    pub fn is_quasi(&self) -> bool {
        self.kind >= 200
    }
}

fn create(generator: Out<Of<Generator>>, kind: i32) -> Result<(), Error> {
    generator.check()?;
    known(kind)?;
    start_driver().map_err(|_| Error::InitializationFailed)?;
    give(&generator, kind, false)
}

/// Numbers for the host need no device.
fn create_host(generator: Out<Of<Generator>>, kind: i32) -> Result<(), Error> {
    known(kind)?;
    give(&generator, kind, true)
}

fn known(kind: i32) -> Result<(), Error> {
    match kind {
        100 | 101 | 121 | 141 | 142 | 161 | 200..=204 => Ok(()),
        _ => Err(Error::TypeError),
    }
}

fn give(generator: &Out<Of<Generator>>, kind: i32, is_host: bool) -> Result<(), Error> {
    generator.check()?;
    let (stream, seed) = (Stream::default(), 0);
    let fresh = Generator { kind, is_host, stream, seed, dimensions: 1, random: Random::new(seed) };
    Ok(generator.set(Of::create(fresh))?)
}

fn destroy(generator: Of<Generator>) -> Result<(), Error> {
    Ok(generator.destroy().map(|_| ())?)
}

fn set_stream(generator: Of<Generator>, stream: Stream) -> Result<(), Error> {
    Ok(generator.with(|generator| generator.stream = stream)?)
}

fn set_seed(generator: Of<Generator>, seed: u64) -> Result<(), Error> {
    generator.with(|generator| {
        if generator.is_quasi() {
            return Err(Error::TypeError);
        }
        (generator.seed, generator.random) = (seed, Random::new(seed));
        Ok(())
    })?
}

fn set_offset(generator: Of<Generator>, offset: u64) -> Result<(), Error> {
    generator.with(|generator| {
        if generator.kind == 141 || generator.kind == 142 {
            return Err(Error::TypeError);
        }
        generator.random = Random::new(generator.seed).skip(offset);
        Ok(())
    })?
}

/// Orderings place numbers, and numbers are not NVIDIA's.
fn set_ordering(generator: Of<Generator>, order: i32) -> Result<(), Error> {
    let is_quasi = generator.with(|generator| generator.is_quasi())?;
    match order {
        201 if is_quasi => Ok(()),
        100..=104 if !is_quasi => Ok(()),
        _ => Err(Error::OutOfRange),
    }
}

fn set_dimensions(generator: Of<Generator>, dimensions: u32) -> Result<(), Error> {
    /// What Sobol tables reach to.
    const MOST: u32 = 20_000;
    generator.with(|generator| match dimensions {
        _ if !generator.is_quasi() => Err(Error::TypeError),
        1..=MOST => {
            generator.dimensions = dimensions;
            Ok(())
        }
        _ => Err(Error::OutOfRange),
    })?
}

/// States are made at the first use anyway.
fn seeds(generator: Of<Generator>) -> Result<(), Error> {
    Ok(generator.check()?)
}

fn create_poisson(lambda: f64, distribution: Out<Of<Poisson>>) -> Result<(), Error> {
    distribution.check()?;
    if !(lambda > 0.0 && lambda <= 400_000.0) {
        return Err(Error::OutOfRange);
    }
    Ok(distribution.set(Of::create(Poisson { lambda }))?)
}

fn destroy_poisson(distribution: Of<Poisson>) -> Result<(), Error> {
    Ok(distribution.destroy().map(|_| ())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn settings_belong_to_their_kind() {
        let pseudo = ask(|out| create_host(out, 100)).expect("a generator");
        let quasi = ask(|out| create_host(out, 201)).expect("a generator");
        assert_eq!((set_seed(pseudo, 7), set_seed(quasi, 7)), (Ok(()), Err(Error::TypeError)));
        assert_eq!((set_dimensions(quasi, 3), set_dimensions(pseudo, 3)), (Ok(()), Err(Error::TypeError)));
        assert_eq!(
            (set_dimensions(quasi, 0), set_ordering(quasi, 100)),
            (Err(Error::OutOfRange), Err(Error::OutOfRange))
        );
        assert_eq!((destroy(pseudo), destroy(pseudo)), (Ok(()), Err(Error::NotInitialized)));
        assert_eq!(ask(|out| create_host(out, 5)).err(), Some(Error::TypeError));
        assert_eq!(ask(|out| create(out, 100)).err(), Some(Error::InitializationFailed));
    }

    #[test]
    fn a_distribution_needs_a_rate() {
        let distribution = ask(|out| create_poisson(3.0, out)).expect("a distribution");
        assert_eq!((seeds(Of::null()), destroy_poisson(distribution)), (Err(Error::NotInitialized), Ok(())));
        assert_eq!(ask(|out| create_poisson(0.0, out)).err(), Some(Error::OutOfRange));
    }
}
