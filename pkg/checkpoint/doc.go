// Package checkpoint is the contract between a trainer, the agent beside it and the operator. It answers
// three questions: what do they write to each other, which checkpoints on a volume are complete, and from
// which one does a gang resume?
//
//	trainer --Status (file)---> agent --Report (HTTPS)-----------> operator
//	trainer <-Command (file)--- agent <-Answer-------------------- operator
//	                            agent --Termination (pod status)-> operator
//	trainer --files, then Manifest--> volume --Scan--> []Found --Choose--> Point: the gang resumes there
//	                                                      +------Retain--> []Found: the agent may delete them
//
// The package has no clock, no network, no client and no writes. It reads directories through fs.FS alone,
// so its caller decides what it can see. It never executes what it reads: it follows a pickle opcode by
// opcode and calls nothing.
//
// Invariants, each with a test that tries to break it:
//
//  1. A checkpoint that is not complete is never a resume point. One whose state cannot be determined is
//     Unknown, not Complete.
//  2. Resume points only move forward: by step, then by attempt. Timestamps are ignored, so a clock that
//     jumps changes nothing. Only where nothing tells a step does the time of the commit decide.
//  3. Retain never names the pinned resume point, the newest complete checkpoint, what was committed last,
//     anything as new as the Last-th complete one, anything that cannot be ordered, or anything that may
//     still be written. It names whole saves.
//  4. A part of a save never stands for the save: one that is torn or missing makes the save Torn.
//  5. Bytes from outside are bounded before they are parsed, and so is every number in them.
//
// The messages are in messages.go, their parsers in parse.go. Bounds are struct tags, from which
// schema/*.json is rendered. The scanner reads a volume, and saves.go joins the parts that it finds to saves.
// layout_*.go judges the checkpoints of one framework each, format_*.go checks one file format each. The page
// for users is docs/checkpoints.md.
package checkpoint
