//! The names of libcufft.so.12 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. They are all the real library exports.

use crate::Cufft;

ghost_abi::absent! { Cufft;
    cufftCreate cufftDebug cufftDescriptionCreate cufftDescriptionGetTraitInt64
    cufftDescriptionSetTraitInt64 cufftDestroy cufftDeviceCreate cufftDeviceDestroy
    cufftDeviceGetDatabaseStr cufftDeviceGetDatabaseStrSize cufftDeviceGetDeviceFunctionTraitInt64
    cufftDeviceGetDeviceFunctions cufftDeviceGetLTOIRSizes cufftDeviceGetLTOIRs
    cufftDeviceGetNumDeviceFunctions cufftDeviceGetNumLTOIRs cufftDeviceGetSemanticVersion
    cufftDeviceGetVersion cufftDeviceIsSupported cufftEstimate1d cufftEstimate2d cufftEstimate3d
    cufftEstimateMany cufftExecC2C cufftExecC2R cufftExecD2Z cufftExecR2C cufftExecZ2D
    cufftExecZ2Z cufftGetPlanPropertyInt64 cufftGetSize cufftGetSize1d cufftGetSize2d
    cufftGetSize3d cufftGetSizeMany cufftGetSizeMany64 cufftMakePlan1d cufftMakePlan2d
    cufftMakePlan3d cufftMakePlanMany cufftMakePlanMany64 cufftPlan1d cufftPlan2d cufftPlan3d
    cufftPlanMany cufftResetPlanProperty cufftSetAutoAllocation cufftSetPlanPropertyInt64
    cufftSetStream cufftSetWorkArea cufftXtClearCallback cufftXtExec cufftXtExecDescriptor
    cufftXtExecDescriptorC2C cufftXtExecDescriptorC2R cufftXtExecDescriptorD2Z
    cufftXtExecDescriptorR2C cufftXtExecDescriptorZ2D cufftXtExecDescriptorZ2Z cufftXtFree
    cufftXtGetSizeMany cufftXtMakePlanGuru64 cufftXtMakePlanMany cufftXtMalloc cufftXtMemcpy
    cufftXtQueryPlan cufftXtSetCallback cufftXtSetCallbackSharedSize cufftXtSetGPUs
    cufftXtSetJITCallback cufftXtSetWorkArea cufftXtSetWorkAreaPolicy
}
