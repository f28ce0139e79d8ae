//! The names PyTorch 2.15 imports from libcusparse (facts of its symbol tables) against the table.

use crate::TABLE;

/// Imported by libtorch_cuda.
const IMPORTS: &str = "
cusparseCbsrmm cusparseCbsrmv cusparseCbsrsm2_analysis cusparseCbsrsm2_bufferSize cusparseCbsrsm2_solve
cusparseCbsrsv2_analysis cusparseCbsrsv2_bufferSize cusparseCbsrsv2_solve cusparseCcsrgeam2
cusparseCcsrgeam2_bufferSizeExt cusparseCreate cusparseCreateBsrsm2Info cusparseCreateBsrsv2Info cusparseCreateCoo
cusparseCreateCsr cusparseCreateDnMat cusparseCreateDnVec cusparseCreateIdentityPermutation cusparseCreateMatDescr
cusparseCsrSetPointers cusparseCsrSetStridedBatch cusparseDbsrmm cusparseDbsrmv cusparseDbsrsm2_analysis
cusparseDbsrsm2_bufferSize cusparseDbsrsm2_solve cusparseDbsrsv2_analysis cusparseDbsrsv2_bufferSize
cusparseDbsrsv2_solve cusparseDcsrgeam2 cusparseDcsrgeam2_bufferSizeExt cusparseDestroy cusparseDestroyBsrsm2Info
cusparseDestroyBsrsv2Info cusparseDestroyDnMat cusparseDestroyDnVec cusparseDestroyMatDescr cusparseDestroySpMat
cusparseDnMatSetStridedBatch cusparseGetErrorString cusparseSDDMM cusparseSDDMM_bufferSize cusparseSDDMM_preprocess
cusparseSbsrmm cusparseSbsrmv cusparseSbsrsm2_analysis cusparseSbsrsm2_bufferSize cusparseSbsrsm2_solve
cusparseSbsrsv2_analysis cusparseSbsrsv2_bufferSize cusparseSbsrsv2_solve cusparseScsrgeam2
cusparseScsrgeam2_bufferSizeExt cusparseSetMatDiagType cusparseSetMatFillMode cusparseSetMatIndexBase
cusparseSetMatType cusparseSetPointerMode cusparseSetStream cusparseSpGEMM_compute cusparseSpGEMM_copy
cusparseSpGEMM_createDescr cusparseSpGEMM_destroyDescr cusparseSpGEMM_workEstimation cusparseSpMM
cusparseSpMM_bufferSize cusparseSpMV cusparseSpMV_bufferSize cusparseSpMatGetSize cusparseSpMatSetAttribute
cusparseSpSM_analysis cusparseSpSM_bufferSize cusparseSpSM_createDescr cusparseSpSM_destroyDescr cusparseSpSM_solve
cusparseSpSV_analysis cusparseSpSV_bufferSize cusparseSpSV_createDescr cusparseSpSV_destroyDescr cusparseSpSV_solve
cusparseXbsrsm2_zeroPivot cusparseXbsrsv2_zeroPivot cusparseXcoo2csr cusparseXcoosortByRow
cusparseXcoosort_bufferSizeExt cusparseXcsrgeam2Nnz cusparseXcsrsort cusparseXcsrsort_bufferSizeExt cusparseZbsrmm
cusparseZbsrmv cusparseZbsrsm2_analysis cusparseZbsrsm2_bufferSize cusparseZbsrsm2_solve cusparseZbsrsv2_analysis
cusparseZbsrsv2_bufferSize cusparseZbsrsv2_solve cusparseZcsrgeam2 cusparseZcsrgeam2_bufferSizeExt
";

#[test]
fn everything_pytorch_imports_is_implemented() {
    for name in IMPORTS.split_whitespace() {
        let row = ghost_abi::find(TABLE, name).unwrap_or_else(|| panic!("{name} is not exported"));
        assert!(row.is_implemented(), "{name}");
    }
}

#[test]
fn no_name_is_exported_twice_and_none_is_lost() {
    let mut names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
