// Package snapshot is the file format of a saved cache: what [cache.Cache.Save]
// writes and Restore reads. It knows records and their checksums, not caches.
//
//	header   magic "pinwheel", version 1
//	         schema: its length, its bytes
//	         the moment of saving, Unix nanoseconds
//	         entries and weight that the cache had when Save began: hints
//	         CRC-32C of all of the header
//	record   length of the body, at least 1
//	         body: a byte of flags and mark; the deadline, if there is one, Unix
//	         nanoseconds; the weight, if there is one; the payload
//	         CRC-32C of the record's number, length and body
//	trailer  a length of 0; the number of records; CRC-32C of the two
//
// Numbers are varints of package encoding/binary, checksums four bytes, little
// endian. A file is complete only with its trailer: one that was cut ends in an
// error, wherever the cut is. As the number of a record is part of its checksum,
// records that were lost, doubled or exchanged are found too.
package snapshot
