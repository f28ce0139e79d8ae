"""nvidia-ml-py, unmodified, on tray 0 of the rack this suite runs on (`ghostrack run`)."""

import ctypes
import os
import signal
import subprocess
import sys
import threading

import pynvml
import pytest

GIB = 1 << 30


@pytest.fixture(autouse=True)
def nvml():
    pynvml.nvmlInit()
    yield
    pynvml.nvmlShutdown()


def gpus():
    return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]


def code_of(call, *arguments):
    with pytest.raises(pynvml.NVMLError) as caught:
        call(*arguments)
    return caught.value.value


def test_every_gpu_says_what_a_gb200_says():
    assert len(gpus()) == 4
    assert pynvml.nvmlSystemGetDriverVersion() == "580.95.05"
    assert pynvml.nvmlSystemGetNVMLVersion() == "13.580.95.05"
    assert pynvml.nvmlSystemGetCudaDriverVersion_v2() == 13000
    for index, gpu in enumerate(gpus()):
        assert pynvml.nvmlDeviceGetName(gpu) == "NVIDIA GB200"
        assert pynvml.nvmlDeviceGetIndex(gpu) == index
        assert pynvml.nvmlDeviceGetCudaComputeCapability(gpu) == (10, 0)
        assert pynvml.nvmlDeviceGetArchitecture(gpu) == pynvml.NVML_DEVICE_ARCH_BLACKWELL
        assert pynvml.nvmlDeviceGetPowerManagementLimitConstraints(gpu) == [200_000, 1_200_000]
        assert pynvml.nvmlDeviceGetMaxClockInfo(gpu, pynvml.NVML_CLOCK_SM) == 2062
        assert len(pynvml.nvmlDeviceGetSupportedGraphicsClocks(gpu, 3996)) == 260
        assert pynvml.nvmlDeviceGetMigMode(gpu) == [0, 0]
        assert 150_000 <= pynvml.nvmlDeviceGetPowerUsage(gpu) <= 1_200_000
        assert 15 <= pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU) <= 92


def test_a_gpu_is_found_by_all_of_its_names():
    for gpu in gpus():
        pci = pynvml.nvmlDeviceGetPciInfo(gpu)
        uuid = pynvml.nvmlDeviceGetUUID(gpu)
        index = pynvml.nvmlDeviceGetIndex(gpu)
        for found in (
            pynvml.nvmlDeviceGetHandleByUUID(uuid),
            pynvml.nvmlDeviceGetHandleByPciBusId(pci.busId),
            pynvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy.lower()),
        ):
            assert pynvml.nvmlDeviceGetIndex(found) == index
    assert code_of(pynvml.nvmlDeviceGetHandleByIndex, 4) == pynvml.NVML_ERROR_INVALID_ARGUMENT
    assert code_of(pynvml.nvmlDeviceGetHandleByPciBusId, "00000042:01:00.0") == pynvml.NVML_ERROR_NOT_FOUND


def test_both_versions_of_memory_agree():
    first = pynvml.nvmlDeviceGetMemoryInfo(gpus()[3])
    second = pynvml.nvmlDeviceGetMemoryInfo(gpus()[3], version=pynvml.nvmlMemory_v2)
    assert first.total == second.total and first.total >> 20 == 189_471
    assert first.used == second.used + second.reserved and second.reserved >> 20 == 742


def test_the_fabric_is_one_clique_of_one_cluster():
    infos = []
    for gpu in gpus():
        info = pynvml.c_nvmlGpuFabricInfoV_t()
        pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(info))
        infos.append((bytes(info.clusterUuid), info.cliqueId, info.state, info.status))
    assert len(set(infos)) == 1
    cluster, clique, state, status = infos[0]
    assert any(cluster) and clique > 0 and (state, status) == (pynvml.NVML_GPU_FABRIC_STATE_COMPLETED, 0)


def test_links_are_up_and_end_in_a_switch():
    gpu = gpus()[0]
    assert [pynvml.nvmlDeviceGetNvLinkState(gpu, link) for link in range(18)] == [1] * 18
    assert code_of(pynvml.nvmlDeviceGetNvLinkState, gpu, 18) == pynvml.NVML_ERROR_INVALID_ARGUMENT
    assert pynvml.nvmlDeviceGetNvLinkVersion(gpu, 0) == 7
    speed, count, limit = pynvml.nvmlDeviceGetFieldValues(
        gpu, [(pynvml.NVML_FI_DEV_NVLINK_GET_SPEED, 0), pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT, pynvml.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT]
    )
    assert (speed.value.uiVal, count.value.uiVal, limit.value.siVal) == (53_125, 18, -5)


def test_what_a_gb200_has_not_is_not_supported():
    gpu = gpus()[0]
    for call in (pynvml.nvmlDeviceGetFanSpeed, pynvml.nvmlDeviceGetCurrentDriverModel, pynvml.nvmlDeviceGetGpuOperationMode):
        assert code_of(call, gpu) == pynvml.NVML_ERROR_NOT_SUPPORTED


def test_a_set_limit_shows_at_once_and_goes_back():
    gpu = gpus()[2]
    try:
        pynvml.nvmlDeviceSetPowerManagementLimit(gpu, 900_000)
        assert pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) == 900_000
        assert code_of(pynvml.nvmlDeviceSetPowerManagementLimit, gpu, 1) == pynvml.NVML_ERROR_INVALID_ARGUMENT
        pynvml.nvmlDeviceSetGpuLockedClocks(gpu, 300, 1500)
        assert pynvml.nvmlDeviceGetApplicationsClock(gpu, pynvml.NVML_CLOCK_GRAPHICS) == 1500
    finally:
        pynvml.nvmlDeviceResetGpuLockedClocks(gpu)
        pynvml.nvmlDeviceSetPowerManagementLimit(gpu, 1_200_000)
    assert pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) == 1_200_000


def test_a_wait_for_events_ends_with_its_time():
    events = pynvml.nvmlEventSetCreate()
    kinds = pynvml.nvmlEventTypeXidCriticalError | pynvml.nvmlEventTypeDoubleBitEccError | pynvml.nvmlEventTypeSingleBitEccError
    for gpu in gpus():
        pynvml.nvmlDeviceRegisterEvents(gpu, kinds, events)
    assert code_of(pynvml.nvmlEventSetWait_v2, events, 20) == pynvml.NVML_ERROR_TIMEOUT
    pynvml.nvmlEventSetFree(events)


def test_a_forked_child_reads_what_its_parent_initialised():
    child = os.fork()
    if child == 0:
        try:
            fine = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(1)) == "NVIDIA GB200"
            os._exit(0 if fine else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_ask_side_by_side():
    failures = []

    def ask():
        try:
            for _ in range(300):
                pynvml.nvmlInit()
                gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
                assert pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu <= 100
                pynvml.nvmlShutdown()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_process_that_stops_is_not_waited_for():
    """A client that is stopped holds no lock of anybody else's."""
    code = "import pynvml, sys, time; pynvml.nvmlInit(); print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "ready\n"
        other.send_signal(signal.SIGSTOP)
        assert pynvml.nvmlDeviceGetName(gpus()[0]) == "NVIDIA GB200"
        other.kill()
