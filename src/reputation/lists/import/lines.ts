/**
 * Splits text that arrives in pieces into lines ended by LF, CRLF or CR. A line longer than the
 * bound is reported once by its head and dropped: memory stays bounded whatever arrives.
 *
 * The text is a "byte string" (decoded as latin1): one character per byte, so that a piece
 * may end inside a UTF-8 character and V8 keeps one-byte strings. Addresses are ASCII.
 */

/** Long enough for a CSV row with a comment, short enough to hold many. */
export const maxLineBytesDefault = 16_384;

export interface LineSink {
  /** One line without its end; `number` counts from 1 and counts empty lines too. */
  line(text: string, number: number): void;
  /** A line over the bound: only its first bytes are known. */
  overlong(head: string, number: number): void;
}

/** Takes text piece by piece; `end` must be called once after the last piece. */
export interface TextReader {
  push(text: string): void;
  end(): void;
}

export function splitLines(sink: LineSink, maxLineBytes = maxLineBytesDefault): TextReader {
  let carry = '';
  let dropping = false;
  let lineNumber = 0;
  /** The piece ended in CR: a leading LF in the next one belongs to the same line end. */
  let afterCr = false;

  function emit(tail: string): void {
    lineNumber++;
    if (dropping || carry.length + tail.length > maxLineBytes) {
      sink.overlong(dropping ? carry : (carry + tail).slice(0, maxLineBytes), lineNumber);
    } else {
      sink.line(carry.length === 0 ? tail : carry + tail, lineNumber);
    }
    carry = '';
    dropping = false;
  }

  function keep(tail: string): void {
    if (dropping) return;
    carry += tail;
    if (carry.length > maxLineBytes) {
      carry = carry.slice(0, maxLineBytes);
      dropping = true;
    }
  }

  return {
    push(text) {
      if (text.length === 0) return;
      let start = afterCr && text.charCodeAt(0) === 0x0a ? 1 : 0;
      afterCr = false;
      // Each search goes on from where the last one stopped, so a piece is read twice at most.
      let lf = text.indexOf('\n', start);
      let cr = text.indexOf('\r', start);
      while (lf !== -1 || cr !== -1) {
        const atCr = lf === -1 || (cr !== -1 && cr < lf);
        const end = atCr ? cr : lf;
        emit(text.slice(start, end));
        start = end + 1;
        if (atCr && start === lf) start++;
        else if (atCr && start === text.length) afterCr = true;
        if (lf !== -1 && lf < start) lf = text.indexOf('\n', start);
        if (cr !== -1 && cr < start) cr = text.indexOf('\r', start);
      }
      if (start < text.length) keep(text.slice(start));
    },
    end() {
      if (carry.length > 0) emit('');
    },
  };
}
