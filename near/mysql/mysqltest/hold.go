package mysqltest

// HoldCommits lets each commit wait, in the log already and not to be read yet: for the
// acknowledgement of a replica that is not there, as semi-synchronous replication does.
func (s *Server) HoldCommits() error {
	return s.Exec(`SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 3600000,
		GLOBAL rpl_semi_sync_master_wait_no_slave = ON, GLOBAL rpl_semi_sync_master_enabled = ON`)
}

// ReleaseCommits ends HoldCommits.
func (s *Server) ReleaseCommits() error {
	return s.Exec("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
}
