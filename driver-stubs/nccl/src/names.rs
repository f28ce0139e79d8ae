//! The names of libnccl.so.2 that have no handler yet.
//! Names only: each answers not-supported and touches none of its arguments. They are all the real library exports.

use crate::Nccl;

ghost_abi::absent! { Nccl;
    ncclAllGather ncclAllReduce ncclAlltoAll ncclBcast ncclBroadcast ncclCommAbort ncclCommCount
    ncclCommCuDevice ncclCommDeregister ncclCommDestroy ncclCommFinalize ncclCommGetAsyncError
    ncclCommGetUniqueId ncclCommGrow ncclCommInitAll ncclCommInitRank ncclCommInitRankConfig
    ncclCommInitRankScalable ncclCommMemStats ncclCommQueryProperties ncclCommRegister
    ncclCommResume ncclCommRevoke ncclCommShrink ncclCommSplit ncclCommSuspend ncclCommUserRank
    ncclCommWindowDeregister ncclCommWindowRegister ncclDevCommCreate ncclDevCommDestroy
    ncclGather ncclGetLsaDevicePointer ncclGetLsaMultimemDevicePointer
    ncclGetMultimemDevicePointer ncclGetPeerDevicePointer ncclGetUniqueId
    ncclGinBarrierCreateRequirement ncclGinInboxA2ACreateRequirement
    ncclGinOutboxCreateRequirement ncclGroupEnd ncclGroupSimulateEnd ncclGroupStart
    ncclLLA2ACalcSlots ncclLLA2ACreateRequirement ncclLsaBarrierCreateRequirement ncclMemAlloc
    ncclMemFree ncclParamBind ncclParamGet ncclParamGetAllParameterKeys ncclParamGetI16
    ncclParamGetI32 ncclParamGetI64 ncclParamGetI8 ncclParamGetParameter ncclParamGetStr
    ncclParamGetU16 ncclParamGetU32 ncclParamGetU64 ncclParamGetU8 ncclPutSignal ncclRecv
    ncclRedOpCreatePreMulSum ncclRedOpDestroy ncclReduce ncclReduceScatter
    ncclResetDebugInitInternal ncclScatter ncclSend ncclSignal ncclTeamLsa ncclTeamRail
    ncclTeamRankToLsa ncclTeamRankToWorld ncclTeamWorld ncclWaitSignal ncclWinGetUserPtr
    pncclAllGather pncclAllReduce pncclAlltoAll pncclBcast pncclBroadcast pncclCommAbort
    pncclCommCount pncclCommCuDevice pncclCommDeregister pncclCommDestroy pncclCommFinalize
    pncclCommGetAsyncError pncclCommGetUniqueId pncclCommGrow pncclCommInitAll pncclCommInitRank
    pncclCommInitRankConfig pncclCommInitRankScalable pncclCommMemStats pncclCommQueryProperties
    pncclCommRegister pncclCommResume pncclCommRevoke pncclCommShrink pncclCommSplit
    pncclCommSuspend pncclCommUserRank pncclCommWindowDeregister pncclCommWindowRegister
    pncclDevCommCreate pncclDevCommDestroy pncclGather pncclGetLsaDevicePointer
    pncclGetLsaMultimemDevicePointer pncclGetMultimemDevicePointer pncclGetPeerDevicePointer
    pncclGetUniqueId pncclGinBarrierCreateRequirement pncclGinInboxA2ACreateRequirement
    pncclGinOutboxCreateRequirement pncclGroupEnd pncclGroupSimulateEnd pncclGroupStart
    pncclLLA2ACalcSlots pncclLLA2ACreateRequirement pncclLsaBarrierCreateRequirement pncclMemAlloc
    pncclMemFree pncclParamBind pncclParamGet pncclParamGetAllParameterKeys pncclParamGetI16
    pncclParamGetI32 pncclParamGetI64 pncclParamGetI8 pncclParamGetParameter pncclParamGetStr
    pncclParamGetU16 pncclParamGetU32 pncclParamGetU64 pncclParamGetU8 pncclPutSignal pncclRecv
    pncclRedOpCreatePreMulSum pncclRedOpDestroy pncclReduce pncclReduceScatter pncclScatter
    pncclSend pncclSignal pncclTeamLsa pncclTeamRail pncclTeamRankToLsa pncclTeamRankToWorld
    pncclTeamWorld pncclWaitSignal pncclWinGetUserPtr
}
