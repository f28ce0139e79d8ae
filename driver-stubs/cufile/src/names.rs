//! The names of libcufile.so.0 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. A status here is the first half of a CUfileError_t, which is returned in one register.

use crate::CuFile;

ghost_abi::rows! { CuFile;
    fn cuFileBatchIODestroy(batch: *mut std::ffi::c_void) -> ();
}

ghost_abi::absent! { CuFile;
    cuFileBatchIOCancel cuFileBatchIOGetStatus cuFileBatchIOSetUp cuFileBatchIOSubmit cuFileDriverGetP2PFlags
    cuFileDriverSetMaxCacheSize cuFileDriverSetMaxDirectIOSize cuFileDriverSetMaxPinnedMemSize
    cuFileDriverSetP2PFlags cuFileDriverSetPollMode cuFileExportPCIeTopology cuFileGetBARSizeInKB
    cuFileGetParameterBool cuFileGetParameterGpuBounceBufferSlabArray cuFileGetParameterMinMaxValue
    cuFileGetParameterPosixPoolSlabArray cuFileGetParameterSizeT cuFileGetParameterString cuFileGetStatsL1
    cuFileGetStatsL2 cuFileGetStatsL3 cuFileGetStatsLevel cuFileReadAsync cuFileSetParameterBool
    cuFileSetParameterGpuBounceBufferSlabArray cuFileSetParameterPosixPoolSlabArray cuFileSetParameterSizeT
    cuFileSetParameterString cuFileSetStatsLevel cuFileStatsReset cuFileStatsStart cuFileStatsStop
    cuFileStreamDeregister cuFileStreamRegister cuFileWriteAsync
}
