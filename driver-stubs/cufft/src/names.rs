//! The names of libcufft.so.12 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. They are all the real library exports.

use crate::Cufft;

ghost_abi::absent! { Cufft;
    cufftDebug cufftDescriptionCreate cufftDescriptionGetTraitInt64 cufftDescriptionSetTraitInt64
    cufftDeviceCreate cufftDeviceDestroy cufftDeviceGetDatabaseStr cufftDeviceGetDatabaseStrSize
    cufftDeviceGetDeviceFunctionTraitInt64 cufftDeviceGetDeviceFunctions cufftDeviceGetLTOIRSizes
    cufftDeviceGetLTOIRs cufftDeviceGetNumDeviceFunctions cufftDeviceGetNumLTOIRs
    cufftDeviceGetSemanticVersion cufftDeviceGetVersion cufftDeviceIsSupported cufftXtClearCallback
    cufftXtExecDescriptor cufftXtExecDescriptorC2C cufftXtExecDescriptorC2R cufftXtExecDescriptorD2Z
    cufftXtExecDescriptorR2C cufftXtExecDescriptorZ2D cufftXtExecDescriptorZ2Z cufftXtFree
    cufftXtMakePlanGuru64 cufftXtMalloc cufftXtMemcpy cufftXtQueryPlan cufftXtSetCallback
    cufftXtSetCallbackSharedSize cufftXtSetGPUs cufftXtSetJITCallback cufftXtSetWorkArea
}
