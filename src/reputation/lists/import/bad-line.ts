/**
 * Renders a bad line for messages: cut short and with everything escaped that could move a cursor, hide
 * text or reorder it. Lists are foreign text; what is printed from them must be harmless.
 */

export const samplesMax = 5;
const sampleCharactersMax = 80;

export interface BadLine {
  /** Counts from 1: the line, or in JSON the element of the list. */
  readonly line: number;
  readonly reason: string;
  /** At most 80 characters before escaping, an ellipsis when cut. */
  readonly text: string;
}

/** `text` is a byte string: one character per byte of UTF-8. */
export function describeBadLine(line: number, reason: string, text: string): BadLine {
  // Four bytes at most per character: enough is decoded, and no long line is kept alive.
  const head = Buffer.from(text.slice(0, 4 * sampleCharactersMax + 4), 'latin1').toString('utf8');
  const characters = Array.from(head);
  const shown = characters.slice(0, sampleCharactersMax).join('');
  const isCut = characters.length > sampleCharactersMax;
  return { line, reason, text: escapeControls(shown) + (isCut ? '…' : '') };
}

/** C0, DEL, C1, line and paragraph separators, zero-width and bidirectional controls. */
const controls =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function escapeControls(text: string): string {
  return text.replace(controls, (character) => {
    const code = character.charCodeAt(0);
    if (code === 0x09) return '\\t';
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}
