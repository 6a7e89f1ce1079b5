/** What `portcullis doctor` says of one thing. */

export interface Finding {
  readonly about: string;
  /** `advice` may stay as it is; `mend` must not. */
  readonly state: 'ok' | 'advice' | 'mend';
  readonly found: string;
  /** What to do; empty when all is well. */
  readonly mend: string;
}

export const fine = (about: string, found: string): Finding => {
  return { about, state: 'ok', found, mend: '' };
};

export const advice = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'advice', found, mend };
};

export const fault = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'mend', found, mend };
};
