//! Running a plan.
//! It makes none.

use crate::store::{Handle, with};
use crate::transform::Transform;
use crate::{Cufft, Error};
use ghost_blas::{DataType, Ptr, submit};

ghost_abi::rows! { Cufft;
    fn cufftExecC2C(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) => c2c;
    fn cufftExecR2C(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) => r2c;
    fn cufftExecC2R(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) => c2r;
    fn cufftExecZ2Z(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) => z2z;
    fn cufftExecD2Z(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) => d2z;
    fn cufftExecZ2D(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) => z2d;
    fn cufftXtExec(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) => any;
}

/// `CUFFT_FORWARD`, where a direction is not the caller's.
const FORWARD: i32 = -1;

fn any(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) -> Result<(), Error> {
    run(plan, input, output, direction, |_| true)
}

fn c2c(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) -> Result<(), Error> {
    run(plan, input, output, direction, between(DataType::C_32F, DataType::C_32F))
}

fn r2c(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) -> Result<(), Error> {
    run(plan, input, output, FORWARD, between(DataType::R_32F, DataType::C_32F))
}

fn c2r(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) -> Result<(), Error> {
    run(plan, input, output, FORWARD, between(DataType::C_32F, DataType::R_32F))
}

fn z2z(plan: Handle, input: Ptr<u8>, output: Ptr<u8>, direction: i32) -> Result<(), Error> {
    run(plan, input, output, direction, between(DataType::C_64F, DataType::C_64F))
}

fn d2z(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) -> Result<(), Error> {
    run(plan, input, output, FORWARD, between(DataType::R_64F, DataType::C_64F))
}

fn z2d(plan: Handle, input: Ptr<u8>, output: Ptr<u8>) -> Result<(), Error> {
    run(plan, input, output, FORWARD, between(DataType::C_64F, DataType::R_64F))
}

fn between(input: DataType, output: DataType) -> impl Fn(&Transform) -> bool {
    move |transform| transform.input.kind == input && transform.output.kind == output
}

/// Runs a plan whose transform the function `fits`.
fn run(
    plan: Handle,
    input: Ptr<u8>,
    output: Ptr<u8>,
    direction: i32,
    fits: impl Fn(&Transform) -> bool,
) -> Result<(), Error> {
    let (transform, stream) = with(plan, |plan| (plan.transform.clone(), plan.stream))?;
    let transform = transform.filter(fits).ok_or(Error::InvalidPlan)?;
    input.check().and(output.check())?;
    if transform.is_complex() && !matches!(direction, -1 | 1) {
        return Err(Error::InvalidValue);
    }
    transform.operations(output.address()).try_for_each(|operation| Ok(submit(stream, &operation)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Plan, add};
    use crate::transform::Layout;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn a_plan_runs_only_what_it_was_made_for() {
        let [input, output] = [Layout::packed(DataType::C_32F), Layout::packed(DataType::C_32F)];
        let transform = Transform { sizes: vec![8], batch: 1, input, output };
        let handle = add(Plan { transform: Some(transform), ..Plan::new() });
        assert_eq!(r2c(handle, at(64), at(64)), Err(Error::InvalidPlan));
        assert_eq!(c2c(handle, at(0), at(64), -1), Err(Error::InvalidValue));
        assert_eq!(c2c(handle, at(64), at(64), 0), Err(Error::InvalidValue));
        assert_eq!(any(add(Plan::new()), at(64), at(64), 1), Err(Error::InvalidPlan));
    }
}
