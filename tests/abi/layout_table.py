"""Which struct, field, enumerator and macro of NCCL each name in include/nccl_abi stands for.

Data only; compare.py reads it. Fields carry NCCL's own names on both sides. `since` is the
(major, minor) of the first NCCL release that has the name, with the patch where that matters.
"""

OURS = "nccl_abi::"

HEAD = "type parentObj rank"
PROXY = ("proxyOp.pid proxyOp.channelId proxyOp.peer proxyOp.nSteps proxyOp.chunkSize "
         "proxyOp.isSend proxyStep.step")
NET_PLUGIN = "netPlugin.id netPlugin.data"


def nested(member, fields):
    return " ".join(f"{member}.{field}" for field in fields.split())


COLL_V4 = "seqNumber func sendBuff recvBuff count root datatype nChannels nWarps algo proto"
CE_COLL = ("seqNumber func sendBuff recvBuff count root datatype syncStrategy intraBatchSync "
           "batchSize numBatches ceSeqNum stream")
API_V5 = " ".join([
    nested("groupApi", "graphCaptured groupDepth"),
    nested("collApi", "func count datatype root stream graphCaptured"),
    nested("p2pApi", "func count datatype stream graphCaptured"),
    nested("kernelLaunch", "stream"),
])
KERNEL_CH_V4 = nested("kernelCh", "channelId pTimer")
P2P_V5 = nested("p2p", "func buff datatype count peer nChannels parentGroup")
CE_V6 = " ".join([
    nested("ceColl", CE_COLL),
    nested("ceCollSync", "isComplete nRanks"),
    nested("ceCollBatch", "numOps totalBytes useIntraSync"),
])

DESCRIPTORS = {
    1: " ".join([
        nested("coll", "name commHash seqNumber func sendBuff recvBuff count root datatype op "
                       "trafficBytes nMaxChannels nWarps algo proto isCollnet isNvls"),
        nested("p2p", "name commHash func buff datatype count peer")]),
    2: " ".join([
        nested("coll", "name commHash seqNumber func sendBuff recvBuff count root datatype "
                       "trafficBytes nMaxChannels nWarps algo proto"),
        nested("p2p", "name commHash func buff datatype count peer")]),
    3: " ".join([
        nested("coll", "name commHash seqNumber func sendBuff recvBuff count root datatype "
                       "nMaxChannels nWarps algo proto"),
        nested("p2p", "name commHash func buff datatype count peer"),
        nested("kernelCh", "channelId"), NET_PLUGIN]),
    4: " ".join([
        nested("coll", COLL_V4), nested("p2p", "func buff datatype count peer nChannels"),
        KERNEL_CH_V4, NET_PLUGIN]),
    5: " ".join([
        API_V5, nested("coll", COLL_V4 + " parentGroup"), P2P_V5, KERNEL_CH_V4, NET_PLUGIN]),
    6: " ".join([
        API_V5, nested("coll", COLL_V4 + " parentGroup"), P2P_V5, KERNEL_CH_V4, NET_PLUGIN, CE_V6]),
    7: " ".join([
        API_V5, "collApi.userTag p2pApi.userTag",
        nested("coll", COLL_V4 + " parentGroup kernelVariant isSymColl userTag"),
        P2P_V5, "p2p.userTag", KERNEL_CH_V4, NET_PLUGIN, CE_V6, "ceColl.userTag",
        nested("kernelPhase", "channelId phaseId phaseName pTimer")]),
}
STATE_ARGS_V1 = "proxyOp.transSize proxyOp.steps proxyCtrl.appendedProxyOps"
STATE_ARGS_V4 = ("proxyStep.transSize proxyCtrl.appendedProxyOps netPlugin.data kernelCh.pTimer")
PROFILER = "name init startEvent stopEvent recordEventState finalize"


def net_slots(version):
    slots = ("name init devices getProperties listen connect accept regMr regMrDmaBuf deregMr isend "
             "irecv iflush test closeSend closeRecv closeListen")
    if version >= 7:
        slots += " getDeviceMr irecvConsumed"
    if version >= 9:
        slots += " makeVDevice"
    if version >= 11:
        slots += " finalize setNetAttr"
    return slots


def collnet_slots(version):
    slots = ("name init devices getProperties listen connect reduceSupport regMr regMrDmaBuf deregMr "
             "iallreduce iflush test closeColl closeListen")
    if version >= 8:
        slots += " iallgather ireducescatter"
    if version >= 9:
        slots += " makeVDevice"
    if version >= 11:
        slots += " finalize"
    return slots


def properties(version):
    fields = "name pciPath guid ptrSupport speed port latency maxComms maxRecvs"
    if version >= 7:
        fields += " netDeviceType netDeviceVersion"
    if version >= 8:
        fields += " regIsGlobal"
    if version >= 9:
        fields += " forceFlush vProps maxP2pBytes maxCollBytes"
    if version >= 11:
        fields += " maxMultiRequestSize"
    if version >= 12:
        fields += " railId planeId"
    return fields


def profiler_structs(version):
    """(our struct, NCCL's typedef, fields) of one profiler version."""
    ours = f"profiler_v{version}::"
    args = STATE_ARGS_V1 if version < 4 else STATE_ARGS_V4
    descriptor = f"{HEAD} {PROXY} {DESCRIPTORS[version]}"
    return [
        (ours + "EventDescriptor", f"ncclProfilerEventDescr_v{version}_t", descriptor.split()),
        (ours + "EventStateArgs", f"ncclProfilerEventStateArgs_v{version}_t", args.split()),
        (ours + "Profiler", f"ncclProfiler_v{version}_t", PROFILER.split()),
    ]


def net_structs(version):
    """(our struct, NCCL's typedef, fields) of one net version."""
    ours = f"net_v{version}::"
    rows = [
        (ours + "Net", f"ncclNet_v{version}_t", net_slots(version).split()),
        (ours + "Properties", f"ncclNetProperties_v{version}_t", properties(version).split()),
        (ours + "CollNet", f"ncclCollNet_v{version}_t", collnet_slots(version).split()),
    ]
    if version >= 7:
        rows.append((ours + "DeviceHandle", f"ncclNetDeviceHandle_v{version}_t",
                     "netDeviceType netDeviceVersion handle size needsProxyProgress".split()))
    if version >= 8:
        rows.append((ours + "Sge", f"ncclNetSGE_v{version}_t", "mhandle address size".split()))
    if version >= 9:
        rows.append((ours + "VDevice", f"ncclNetVDeviceProps_v{version}_t", "ndevs devs".split()))
    if version >= 10:
        rows.append((ours + "CommConfig", f"ncclNetCommConfig_v{version}_t", ["trafficClass"]))
    if version >= 11:
        rows.append((ours + "CommAttr", f"ncclNetCommAttr_v{version}_t",
                     "maxConcurrentPeers minConcurrentPeers maxFlowsPerPeer "
                     "minFlowsPerPeer".split()))
        rows.append((ours + "Attr", f"ncclNetAttr_v{version}_t",
                     "sendCommAttr recvCommAttr op algo proto".split()))
    return rows


def callbacks(release):
    """(our type, NCCL's typedef) of the function types handed to plugins."""
    rows = [("Logger", "ncclDebugLogger_t")]
    if release >= (2, 26):
        rows.append(("NetProfilerCallback", "ncclProfilerCallback_t"))
    return rows


def numbered(prefix_ours, prefix_theirs, since, names):
    return [(f"{prefix_ours}{ours}", f"{prefix_theirs}{theirs}", since)
            for ours, theirs in (n.split("=") if "=" in n else (n, n) for n in names.split())]


FIRST = (2, 19)

# Each group is one enum of NCCL: rows of (ours, theirs, since), and the names in it that need no
# counterpart of ours (counts, aliases).
PUBLIC_ENUMS = [
    (numbered("Result::", "nccl", FIRST,
              "Success UnhandledCudaError SystemError InternalError InvalidArgument InvalidUsage "
              "RemoteError InProgress")
     + [("Result::Timeout", "ncclTimeout", (2, 30))],
     {"ncclNumResults"}),
    (numbered("DataType::", "nccl", FIRST,
              "Int8 Int8=Char Uint8 Int32 Int32=Int Uint32 Int64 Uint64 Float16 Float16=Half "
              "Float32 Float32=Float Float64 Float64=Double Bfloat16")
     + [("DataType::Float8E4M3", "ncclFloat8e4m3", (2, 24)),
        ("DataType::Float8E5M2", "ncclFloat8e5m2", (2, 24))],
     {"ncclNumTypes"}),
    (numbered("RedOp::", "nccl", FIRST, "Sum Prod Max Min Avg"), {"ncclNumOps", "ncclMaxRedOp"}),
]

INTERNAL_ENUMS = [
    (numbered("Func::", "ncclFunc", FIRST,
              "Broadcast Reduce AllGather ReduceScatter AllReduce SendRecv Send Recv")
     + numbered("Func::", "ncclFunc", (2, 28), "AlltoAll Scatter Gather")
     + numbered("Func::", "ncclFunc", (2, 29), "AllGatherV PutSignal Signal WaitSignal"),
     {"ncclNumFuncs"}),
    (numbered("LogLevel::", "NCCL_LOG_", FIRST,
              "None=NONE Version=VERSION Warn=WARN Info=INFO Abort=ABORT Trace=TRACE")
     + [("LogLevel::Attn", "NCCL_LOG_ATTN", (2, 32))], set()),
    (numbered("log_subsys::k", "NCCL_", FIRST,
              "Init=INIT Coll=COLL P2p=P2P Shm=SHM Net=NET Graph=GRAPH Tuning=TUNING Env=ENV "
              "Alloc=ALLOC Call=CALL Proxy=PROXY Nvls=NVLS All=ALL")
     + numbered("log_subsys::k", "NCCL_", (2, 21), "Bootstrap=BOOTSTRAP Reg=REG")
     + [("log_subsys::kProfile", "NCCL_PROFILE", (2, 22)), ("log_subsys::kRas", "NCCL_RAS", (2, 24))]
     + numbered("log_subsys::k", "NCCL_", (2, 30), "Destroy=DESTROY AllocHost=ALLOC_HOST"), set()),
    (numbered("NetDeviceType::", "NCCL_NET_DEVICE_", FIRST, "Host=HOST Unpack=UNPACK")
     + numbered("NetDeviceType::", "NCCL_NET_DEVICE_", (2, 28, 7),
                "GinProxy=GIN_PROXY GinGdaki=GIN_GDAKI")
     + [("NetDeviceType::GinGpi", "NCCL_NET_DEVICE_GIN_GPI", (2, 30)),
        ("NetDeviceType::GinEfaGda", "NCCL_NET_DEVICE_GIN_EFA_GDA", (2, 31))], set()),
    # 2.26 has the callback but writes 0 and 1 without names.
    (numbered("NetEvent::", "ncclProfilerNetEvent", (2, 27), "Start Stop Update UpdateAndStop"),
     set()),
    (numbered("event_type::k", "ncclProfile", (2, 23),
              "Group Coll P2p ProxyOp ProxyStep ProxyCtrl")
     + numbered("event_type::k", "ncclProfile", (2, 26), "KernelCh NetPlugin")
     + numbered("event_type::k", "ncclProfile", (2, 28), "GroupApi CollApi P2pApi KernelLaunch")
     + numbered("event_type::k", "ncclProfile", (2, 29), "CeColl CeSync CeBatch")
     + numbered("event_type::k", "ncclProfile", (2, 31), "KernelPhase"),
     {"ncclProfileNumEvents"}),
    (numbered("EventState::", "ncclProfiler", (2, 23),
              "ProxyOpSendPosted ProxyOpSendRemFifoWait ProxyOpSendTransmitted ProxyOpSendDone "
              "ProxyOpRecvPosted ProxyOpRecvReceived ProxyOpRecvTransmitted ProxyOpRecvDone "
              "ProxyStepSendGpuWait=ProxyStepSendGPUWait ProxyStepSendWait ProxyStepRecvWait "
              "ProxyStepRecvFlushWait ProxyStepRecvGpuWait=ProxyStepRecvGPUWait ProxyCtrlIdle "
              "ProxyCtrlActive ProxyCtrlSleep ProxyCtrlWakeup ProxyCtrlAppend ProxyCtrlAppendEnd")
     + numbered("EventState::", "ncclProfiler", (2, 27),
                "ProxyOpInProgress=ProxyOpInProgress_v4 "
                "ProxyStepSendPeerWait=ProxyStepSendPeerWait_v4 NetPluginUpdate KernelChStop")
     + numbered("EventState::", "ncclProfiler", (2, 28), "GroupStartApiStop GroupEndApiStart")
     + numbered("EventState::", "ncclProfiler", (2, 29),
                "CeCollStart CeCollComplete CeSyncStart CeSyncComplete CeBatchStart "
                "CeBatchComplete")
     + numbered("EventState::", "ncclProfiler", (2, 31), "KernelPhaseStop"), set()),
]

# Macros, which debug information does not keep.
MACROS = [
    ("kPtrHost", "NCCL_PTR_HOST", FIRST),
    ("kPtrCuda", "NCCL_PTR_CUDA", FIRST),
    ("kPtrDmaBuf", "NCCL_PTR_DMABUF", FIRST),
    ("kNetHandleBytes", "NCCL_NET_HANDLE_MAXSIZE", FIRST),
    ("kNetMaxRequests", "NCCL_NET_MAX_REQUESTS", FIRST),
    ("kNetMaxRequestsV6", "NCCL_NET_MAX_REQUESTS_V6", FIRST),
    ("kNetMaxSizeBytes", "NCCL_MAX_NET_SIZE_BYTES", (2, 24)),
    ("kOptionalRecvCompletion", "NCCL_NET_OPTIONAL_RECV_COMPLETION", (2, 24)),
    ("kMultiRequest", "NCCL_NET_MULTI_REQUEST", (2, 28)),
    ("kNetTrafficClassUndefined", "NCCL_NET_TRAFFIC_CLASS_UNDEF", (2, 26)),
    ("kNetAttrUndefined", "NCCL_NET_ATTR_UNDEF", (2, 28)),
]
