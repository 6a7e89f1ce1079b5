/** Puts the names under which a server counts what it did into plain words. */

import { type ErrorCode, errors, sentenceFor } from '../../core/errors.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { frameText } from '../words.ts';

/** Words for events of accounts, by name. */
export type EventNames = Readonly<Record<string, string>>;

/** A name that this version does not know, of a row of another one, is left as it is. */
export function activityLabel(frame: PageFrame, eventNames: EventNames, name: string): string {
  const text = frameText(frame).console.overview;
  const own: Readonly<Record<string, string>> = text.deeds;
  if (Object.hasOwn(own, name)) return own[name]!;
  const [kind, what = ''] = name.split(':');
  if (kind === 'sign_on' && Object.hasOwn(eventNames, what)) return eventNames[what]!;
  if (kind === 'reports_refused' && Object.hasOwn(errors, what)) {
    return text.reportRefused(sentenceFor(what as ErrorCode, frame.language));
  }
  return name;
}
