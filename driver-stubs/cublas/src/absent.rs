//! Functions that are exported and not implemented: the multi-GPU interface, the interface of before handles, and
//! what no header declares. Each answers `CUBLAS_STATUS_NOT_SUPPORTED` and is counted.

use ghost_blas::Cublas;

ghost_abi::absent! { Cublas;
    cublasAlloc cublasCbdmm cublasDbdmm cublasDrotmg_v2 cublasFree cublasGetBackdoor cublasGetEnvironmentMode
    cublasGetError cublasGetVersion cublasInit cublasRotgEx cublasRotmgEx cublasSbdmm cublasSetBackdoor
    cublasSetBackdoorEx cublasSetEnvironmentMode cublasSetKernelStream cublasShutdown cublasSrotmg_v2
    cublasUint8gemmBias cublasXtCgemm cublasXtChemm cublasXtCher2k cublasXtCherk cublasXtCherkx cublasXtCreate
    cublasXtCspmm cublasXtCsymm cublasXtCsyr2k cublasXtCsyrk cublasXtCsyrkx cublasXtCtrmm cublasXtCtrsm
    cublasXtDestroy cublasXtDeviceSelect cublasXtDgemm cublasXtDspmm cublasXtDsymm cublasXtDsyr2k cublasXtDsyrk
    cublasXtDsyrkx cublasXtDtrmm cublasXtDtrsm cublasXtGetBlockDim cublasXtGetNumBoards cublasXtGetPinningMemMode
    cublasXtMaxBoards cublasXtSetBlockDim cublasXtSetCpuRatio cublasXtSetCpuRoutine cublasXtSetPinningMemMode
    cublasXtSgemm cublasXtSspmm cublasXtSsymm cublasXtSsyr2k cublasXtSsyrk cublasXtSsyrkx cublasXtStrmm
    cublasXtStrsm cublasXtZgemm cublasXtZhemm cublasXtZher2k cublasXtZherk cublasXtZherkx cublasXtZspmm
    cublasXtZsymm cublasXtZsyr2k cublasXtZsyrk cublasXtZsyrkx cublasXtZtrmm cublasXtZtrsm cublasZbdmm
}
