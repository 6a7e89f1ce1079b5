/**
 * Why a goal is missed, by hand: docs/BENCHMARKS.md shows the reason beside each missed row. A
 * reason stays here when its goal is met for once; it is shown again when it is missed again.
 */

/** By bench, and by how the row's name begins: the first that fits counts. */
export type Reasons = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const reasons: Reasons = {
  capacity: {
    '':
      'Server, command, LMDB’s threads and asker share two cores: the answering thread runs 57 ms of a second and waits 41 to 46 for a core. Rests between events made imports up to 2.7 times as long for a p99 of 0.8 in place of 1.1 ms. ' +
      'An entry has a record of 32 bytes; the nodes of spread hosts take 24 more.',
  },
  captcha: {
    'economy, size':
      'LZW of 4,800 fair bits takes 1.27 times their bytes, and delay, place and block lengths of each frame another 0.04; a parse that looks ahead saves 0.1 %.',
    'default, two threads':
      'Near its goal from either side (1.75 to 1.90 on a free machine, where pure computation gains 1.98); the processor time a GIF is that of one thread.',
    'default, share of gifenc': 'Near its goal from either side: 0.886 on a free machine.',
  },
  'captcha-attack': {
    'control: straight loop, mean of all frames; tesseract':
      'A control, of a picture that leaks: tesseract is made for print, and the template matcher reads all of the same words.',
    'French sound, control: stock voices':
      'A control, of recordings that were said once each; since a pattern has the silence around its digit, 20 are read, which is the goal.',
  },
  'captcha-burst': {
    'check beside 10000 solutions':
      'Nearly all are refused before their body is read: 25 to 31 µs each, of which the server’s own code has 8 and the kernel most, and the sender takes more than half of the other core.',
    'check while nine of ten visitors do work':
      'Quiet runs gave 1.22 to 1.86. Most of the slowest hundredth waits for a core; a front end works 230 ms of a burst (bare 95), 45 % of it in the kernel, and one full collection falls into nearly each burst. ' +
      'Other sizes of the old and young space and caps on answers a turn gave nothing, or cost checks and memory.',
    'check during a burst':
      'A thousand visitors connect anew twice, nearly at once, and a check is served in the same turn as their accepts; their own process takes one of the two cores.',
  },
  check: {
    'check-bulk: addresses':
      'Lines took 513 ns an address before 64 were looked up together: now some 390, of which look-up 90, country and provider 60, text 40, lines 30, the rest writing JSON. Huge pages take a fifth off for 10 to 60 MiB more at rest.',
    'check: text to the bytes':
      'Missed on slower machines, by up to a quarter; a third is parsing and the walk over the index, the rest is writing. Fewer or ready pieces gave nothing.',
  },
  combined: {
    'check p99 under':
      'The rest is waiting for a core, up to 24 ms behind the main thread, V8’s helpers and the sender; beside a main thread that stands still the answering thread keeps 0.4 ms (bench front-ends). Fewer helpers and lower priorities help the control as much.',
  },
  console: {
    'main thread: the longest of all first times':
      'The page of the feeds waits up to a second for their first build, and all that the main thread does meanwhile is counted; asked for by hand it had 25 ms, 9 in the next second.',
    'check p99 with 10 consoles':
      'Near its goal from either side (1.16 and 1.35): the wait is for one of two cores that also carry ten readers; the main thread runs 23 ms of a second in place of 11.',
  },
  feeds: {
    'feeds: CPU of a build from nothing':
      'Two fifths are zlib at its fastest level, a tenth is the walk over a million hosts, and most of the rest writes 530 MB of text. An own deflate took 1.6 times as long; no window, level or filter is quicker. Slower machines took 3.6 to 4.2 s.',
    'feeds: CPU of a build after':
      'Two fifths are passes over all rows, also after a single change; 500 changes move a thousand rows, so each run of the text is copied anew, 330 MB. Larger leaves took longer.',
  },
  geo: { 'geo v': 'Ours finds country and provider, the peer the country alone.' },
  http: {
    'http: CPU of one constant':
      'The bare library takes a third of what these take on this machine: the transport has little left to gain.',
    'http: CPU that IPv6': 'Parsing and writing the longer text; the look-up takes no longer.',
    'http: CPU of a check over a Unix socket':
      'What falls away is the kernel’s TCP, less where fewer requests wait for one turn: 0.61 on a busy machine.',
    'http: CPU of a check':
      'The bare library with a constant takes about what a GET of Redis does. Of 16 pipelined checks each takes 2.6 µs, the bare constant 1.5, the server’s wrapper around it 1.75.',
    'http: CPU of a whole check':
      'The bare library takes a quarter to a third of what these take where a system call costs this much (last row); the check adds 1.2 to 2.6 µs. With 303 ns a call the ratios were 1.13 and 1.16.',
  },
  idle: {
    'start: ':
      'A tenth is Node alone; a seventh compiles modules, and regular expressions, QR codes and public suffixes take another, which later would hold a request. A folder of compiled code (Node 24, the systemd unit) saves an eighth.',
    'memory: idle':
      '151 to 178 MiB by whether V8 has collected since. Node’s own code is 49 MB, the heaps of two threads 49 of 75 reserved, geo tables 12, index 13; smaller young spaces make reports slower.',
  },
  index: {
    IPv6: 'A hit passes 6.8 lines of memory one after the other, four of them in 49 MB at 60 to 95 ns each. With 64 addresses again and again it takes 95 ns, with 1,024 (branches that can’t be foretold) 184, so no layout reaches 150; huge pages take 100 to 140 ns off.',
    '': 'Three to seven dependent cache misses for a look-up in a million entries; least times are at the goals or within 3 ns.',
  },
  integrations: {
    'gate: answers a second of nginx':
      'nginx alone sends six bytes from memory; with a gate each visit is a second request through another process, and with an nginx that answers a constant it is half of nginx alone too.',
    'gate: CPU of a question':
      'A question is three system calls in place of two, since the proxy’s own address is asked of the kernel: 9.6 µs, 8.1 without it, which is a check. Over the Unix socket nobody has to be asked.',
    'SPOE: answers a second':
      'HAProxy’s one thread takes 11 to 12 µs a visit and 17 to 21 with the question, by what its filter packs and sends; that alone would be 0.6. The server’s 4.3 µs run on the other core.',
    'DNS block list':
      'The kernel’s sending is four fifths of all. Between the bare sockets and ours (1.24; 1.18 with a thousand hosts) is memory: a walk and a record among a million hosts.',
  },
  nodes: {
    'durable reports':
      'The sender, two nodes and PostgreSQL share two cores; on the embedded store the same sender gets some 9,200 a second. Other young spaces and fewer helpers of V8 gave no clear gain.',
    'a node that was away':
      'A report that is read and applied costs 9 to 18 µs beside other work of the machine; no function has more than a sixteenth of it.',
  },
  peers: {
    'fold from the journal':
      '1.5 µs a row: 0.5 its place in the index, 0.5 votes and ceiling, 0.3 word and record, 0.2 reading. Building a /24 as one node would save 0.2 of 1.5 s, in code that readers rely on without a lock: not taken.',
    'check p99 beside a first load':
      'A million rows cost the main thread 2.7 s of processor time. Since the load rests four times as long as each turn it uses 0.4 s of the first three, in place of 1.0 to 1.4.',
    'a look at a head':
      'A request on a connection of its own is 0.44 ms, most of it system calls; reads of the store 0.2, signals and timers 0.1. Servers end connections long before the next look.',
  },
  rbldnsd: {
    'check, one by one':
      'An answer over TCP with a head of HTTP: the bare library that answers a constant takes nearly twice what rbldnsd does for a datagram. Who asks much asks in bulk.',
    'check-bulk over HTTP':
      'Of lines the look-up is some 90 ns, country and provider 60, reading the text 40, finding the lines 30; the rest writes 170 bytes of JSON.',
  },
  reports: {
    'durable reports':
      'Rows are made, checked and applied on the one main thread that also reads requests and writes answers; the peer only puts, in a thread of its own. Over HTTP a report takes 61 to 87 µs of processor time, no item of it as much as a sixth; see below.',
    'start with':
      'Most of it is a start with an empty store: 1.2 s of processor time on all threads of a busy machine.',
    'the same, beside':
      'A report that is taken is work of two threads and of the disk, one that is refused of one thread: the main thread runs 230 in place of 110 ms of a second, LMDB’s 130 in place of 0. Groups at least 4 ms apart would save little and cost writers as much.',
    'check p99 while':
      'A report is the work of about ten checks, and a check behind some of them waits; the row below shows what the same sender costs when all is refused.',
  },
};

/** Measured by hand, beside the tables. */
export const apart: readonly string[] = [
  '**captcha-attack** ran in full beside other work, which changes nothing in what is read; captcha and captcha-burst on a quiet machine.',
  '**A hash of hosts in front of the trie**, a million hosts: 53 / 75 / 66 ns for zipf / hit / random where the trie takes 205 / 328 / 130, but a check needs the networks around a host too, and both together take 301 / 535 / 187. Not taken.',
  '**Reports, tried without gain**: other bounds of the young space, a shared scratch array (23.6 and 23.4 µs), the checksum of four bytes at a time, JSON in place of V8’s own form between threads (1.7 and 1.6 µs), ' +
    'other priorities of threads, pieces of 16, groups 2 or 4 ms apart.',
  '**A second of reports over HTTP, 128 in flight**: 11,288 on a disk, 15,742 in memory; main thread 46 µs a report, front end 37, LMDB’s threads 13, V8’s helpers 4. Commits that begin before the last one is answered gave 1.19 × the reports, ' +
    'with pieces of 32 between threads 1.27 ×; with syncs of 2 ms 9,399 became 11,818 and 110 µs a report 92.',
  '**Where the processor time of a report over HTTP goes**: main thread 55 µs (collections 11, message to queue 12, rows to LMDB’s list 10, applied 6, kernel 4), front end 33 (sockets 11, request and answer 9, judging 6, messages 3), LMDB’s threads 14.',
  '**Packed rows that lead to reports**: the file is 15 % smaller and a report takes 25.5 in place of 26.8 µs, over HTTP 118.5 beside 119.3: no gain that stands, for a step of the data format. Not taken.',
  '**A store with many scattered free pages**: with 60,000 a commit took up to 190 ms in place of 0.14, since LMDB’s binding wrote all that it keeps in memory; with `maxFreeSpaceToLoad` and `maxFreeSpaceToRetain` at 500 and 600 it takes 0.16 to 0.4. ' +
    'A file of 15 MiB of rows is 55 MiB in place of 44.',
  '**Rebuild from the store** of a million entries takes 1.2 to 1.6 s (goal 1.5).',
];
