/** A finding is a line of `portcullis doctor`: the state of one thing, and the way to mend it. */

export interface Finding {
  readonly about: string;
  /** `advice` may stay as it is; `mend` must not. */
  readonly state: 'ok' | 'advice' | 'mend';
  readonly found: string;
  /** The next step for the operator; empty when all is well. */
  readonly mend: string;
}

export const fine = (about: string, found: string): Finding => {
  return { about, state: 'ok', found, mend: '' };
};

export const advice = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'advice', found, mend };
};

/** A check that throws becomes a finding too, so that the list goes on. */
export async function runCheck(
  about: string,
  examine: () => Finding | Finding[] | Promise<Finding | Finding[]>,
): Promise<Finding[]> {
  try {
    return [await examine()].flat();
  } catch (error) {
    return [
      fault(about, (error as Error).message, 'let this user look at it, then run this again'),
    ];
  }
}

export const fault = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'mend', found, mend };
};

/** A clock that differs more from another one is a finding. */
export const skewMsMax = 30_000;
