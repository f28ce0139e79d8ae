//! The names of libcufile.so.0 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. A status here is the first half of a CUfileError_t, which is returned in one register.

use crate::CuFile;

ghost_abi::absent! { CuFile;
    cuFileBatchIOCancel cuFileBatchIOGetStatus cuFileBatchIOSetUp cuFileBatchIOSubmit
    cuFileBufDeregister cuFileBufRegister cuFileDriverClose cuFileDriverClose_v2
    cuFileDriverGetP2PFlags cuFileDriverGetProperties cuFileDriverOpen cuFileDriverSetMaxCacheSize
    cuFileDriverSetMaxDirectIOSize cuFileDriverSetMaxPinnedMemSize cuFileDriverSetP2PFlags
    cuFileDriverSetPollMode cuFileExportPCIeTopology cuFileGetBARSizeInKB cuFileGetParameterBool
    cuFileGetParameterGpuBounceBufferSlabArray cuFileGetParameterMinMaxValue
    cuFileGetParameterPosixPoolSlabArray cuFileGetParameterSizeT cuFileGetParameterString
    cuFileGetStatsL1 cuFileGetStatsL2 cuFileGetStatsL3 cuFileGetStatsLevel cuFileHandleRegister
    cuFileReadAsync cuFileSetParameterBool cuFileSetParameterGpuBounceBufferSlabArray
    cuFileSetParameterPosixPoolSlabArray cuFileSetParameterSizeT cuFileSetParameterString
    cuFileSetStatsLevel cuFileStatsReset cuFileStatsStart cuFileStatsStop cuFileStreamDeregister
    cuFileStreamRegister cuFileWriteAsync
}
