//! The names of libcusparseLt.so.0 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. They are all the public names the real library exports.

use crate::CusparseLt;

ghost_abi::absent! { CusparseLt;
    cusparseLtDenseDescriptorInit cusparseLtDestroy cusparseLtInit cusparseLtMatDescGetAttribute
    cusparseLtMatDescSetAttribute cusparseLtMatDescriptorDestroy cusparseLtMatmul
    cusparseLtMatmulAlgGetAttribute cusparseLtMatmulAlgSelectionDestroy
    cusparseLtMatmulAlgSelectionInit cusparseLtMatmulAlgSetAttribute
    cusparseLtMatmulDescGetAttribute cusparseLtMatmulDescSetAttribute
    cusparseLtMatmulDescriptorInit cusparseLtMatmulGetWorkspace cusparseLtMatmulPlanDestroy
    cusparseLtMatmulPlanInit cusparseLtMatmulSearch cusparseLtSpMMACompress
    cusparseLtSpMMACompress2 cusparseLtSpMMACompressedSize cusparseLtSpMMACompressedSize2
    cusparseLtSpMMAPrune cusparseLtSpMMAPrune2 cusparseLtSpMMAPruneCheck
    cusparseLtSpMMAPruneCheck2 cusparseLtStructuredDescriptorInit
}
