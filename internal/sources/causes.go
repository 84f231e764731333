package sources

// The causes of findings, as the page shows them.
const (
	LoadsHang       = "loads hang"
	LoadsTimeOut    = "loads time out"
	LoadsFail       = "loads fail"
	OneKeyFails     = "one key fails"
	LoadsSlow       = "loads slow"
	WaitingForPlace = "waiting for a place"
	CallbacksHang   = "callbacks hang"
	IsNew           = "new"
	WasCleared      = "cleared"
	TTLTooShort     = "TTL too short"
	LimitTooSmall   = "limit too small"
	LimitLowered    = "limit lowered"
	MoreKeys        = "more keys"
	OnceOnly        = "keys asked for once"
	UnknownKeys     = "unknown keys"
	ChangedAtSource = "changed at the source"
	OneHotKey       = "one hot key"
	Grows           = "grows without limit"
	SourceSilent    = "source silent"
	SourceSlow      = "source slow"
	SourcePartial   = "source partial"
	StoreFails      = "store fails"
	Undecodable     = "values undecodable"
	DelFails        = "Del fails"
	ServesReplaced  = "serves what was replaced"
	WorkersBusy     = "workers busy"
	MemoryLimit     = "memory limit"
	WasStopped      = "was stopped"
)

// Causes are the causes of findings of a cache, which Accept may have.
var Causes = []string{
	LoadsHang, LoadsTimeOut, LoadsFail, OneKeyFails, LoadsSlow, WaitingForPlace,
	CallbacksHang, IsNew, WasCleared, TTLTooShort, LimitTooSmall, LimitLowered,
	MoreKeys, OnceOnly, UnknownKeys, ChangedAtSource, OneHotKey, Grows,
	SourceSilent, SourceSlow, SourcePartial, StoreFails, Undecodable, DelFails, ServesReplaced,
}
