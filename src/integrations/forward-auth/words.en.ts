/** The English sentences of the gate’s challenge. Their type is the catalogue of this wing. */

export const en = {
  gate: {
    title: 'One question before you go on',
    lede: (host: string) =>
      `There has been abuse from networks like yours. Show ${host} that you are a person, and go on.`,
    thisSite: 'this site',
    submit: 'Go on',
    wrong: 'Not right, or too late. Each challenge takes one answer, so here is another.',
    cookie: 'A right answer leaves a cookie of this site that says so, for a day at most.',
  },
};

export type Words = typeof en;
