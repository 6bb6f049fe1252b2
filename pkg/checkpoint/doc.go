// Package checkpoint is the contract between a trainer, the agent beside it and the operator. It answers three questions: what
// do they write to each other, which checkpoints on a volume are complete, and from which one does a gang resume?
//
// It is pure: no clock, no network, no client, no writes. It reads directories through fs.FS alone, so whoever calls it
// decides what it can see. Nothing that it reads is ever executed; a pickle is looked at opcode by opcode.
//
//	trainer ──Status (file)──▶ agent ──Report (HTTPS)──▶ operator
//	trainer ◀─Command (file)── agent ◀─Answer─────────── operator
//	trainer ──files, then Manifest──▶ volume ──Scan──▶ []Found ──Choose──▶ resume point
//	                                                           └─Retain──▶ what may be deleted
//
// Invariants, each with a test that tries to break it:
//
//  1. A checkpoint that is not complete is never a resume point; what cannot be told is Unknown, not Complete.
//  2. Resume points only move forward: by step, then by attempt. No time is looked at, so a clock that jumps changes nothing.
//  3. Retention never names the pinned resume point, the newest complete checkpoint, anything newer than the keepLast-th
//     complete one, nor anything that may still be written.
//  4. Bytes from outside are bounded before they are parsed, and every number in them has bounds.
package checkpoint
