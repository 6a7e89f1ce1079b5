/**
 * The English sentences that every page may need. Its type is the catalogue: a language that lacks
 * a key, or has one too many, does not compile. A module adds its own (`words.ts` there). Numbers
 * arrive formatted; plurals get the count as well.
 */

export const en = {
  site: {
    name: 'Portcullis',
    tagline: 'Self-hosted IP reputation and sign-on',
    skip: 'Skip to content',
    navigation: 'Main',
    home: 'Portcullis, home page',
    footerNavigation: 'More',
  },
  looks: {
    language: 'Language',
    theme: 'Theme',
    light: 'Light',
    dark: 'Dark',
    auto: 'As the device',
  },
  links: {
    home: 'Home',
    docs: 'Documentation',
    connect: 'Connect',
    feeds: 'Blocklists',
    radar: 'Radar',
    captchaDemo: 'CAPTCHA demo',
    report: 'Report an address',
    signIn: 'Sign in',
    register: 'Create an account',
    account: 'Account',
    manifest: 'Manifest',
    guide: 'llms.txt',
    kit: 'Integration kit',
    source: 'Source code',
  },
  lookup: {
    label: 'IP address',
    placeholder: '203.0.113.7 or 2001:db8::1',
    submit: 'Look up',
    examples: 'For example',
  },
  code: { copy: 'Copy', copied: 'Copied' },
  score: {
    words: { clean: 'Clean', low: 'Low', suspect: 'Suspect', malicious: 'Malicious' },
    meanings: {
      clean: 'Nothing, or almost nothing, speaks against it.',
      low: 'A few reports. Let it in, keep an eye on it.',
      suspect: 'Enough to ask for proof, not enough to shut it out.',
      malicious: 'Lists, or people who have earned trust, are sure. Block it.',
    },
    gauge: (score: number, word: string) => `Score ${score} of 100: ${word}`,
    scale: 'Scores from 0 to 100',
    outOf: 'of 100',
  },
  error: {
    titles: {
      400: 'That request makes no sense to us',
      403: 'This gate stays shut',
      404: 'There is nothing behind this gate',
      405: 'This address takes nothing of the kind',
      408: 'It did not arrive in time',
      413: 'That is too large',
      415: 'That is of another kind than we take',
      429: 'Too many requests',
      500: 'Something broke on our side',
      503: 'Closed for a moment',
    },
    details: {
      400: 'Check the address you typed and try again.',
      403: 'You are not allowed to see this page.',
      404: 'The page may have moved, or the link may be wrong.',
      405: 'Go back to the page that you came from, and use its form.',
      408: 'What you sent came too slowly, or broke off. Nothing was changed. Go back and send it again.',
      413: 'What you sent is larger than we take: a picture may have 10 MB, any other form far less. Nothing was changed. Go back and send less.',
      415: 'Nothing was changed. Go back to the page that you came from, and use its form.',
      429: 'You are asking faster than we answer. Wait a moment, then try again.',
      500: 'The fault is ours and has been logged. Try again in a while.',
      503: 'The service cannot answer right now. Try again in a minute.',
    },
    tryAgainIn(seconds: number): string {
      if (seconds < 90) return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
      const minutes = Math.ceil(seconds / 60);
      if (minutes < 90) return `Try again in ${minutes} minutes.`;
      return `Try again in ${Math.ceil(minutes / 60)} hours.`;
    },
    status: (status: number) => `Error ${status}`,
    goHome: 'Back to the home page',
    goBack: 'Back to the page before',
    request: 'If you write to us about this, quote the request',
    lookUp: 'Look up an address',
  },
  /** The challenge inside a form. */
  challenge: {
    legend: 'Show that you are a person',
    imageAlt:
      'Moving picture with letters and digits to type. If you cannot see them, use the spoken digits below.',
    frozenAlt: 'A single frame of the picture: noise.',
    lessMotion: 'Your device asks for less motion, so the picture waits. You can listen instead.',
    showPicture: 'Show the moving picture',
    soundTitle: 'Or listen',
    soundHint: 'Six digits, spoken in English, over noise. Type them in place of the word.',
    answer: 'What you see or hear',
    answerHint: 'Capitals and spaces do not matter.',
    another: 'New picture',
    expires: (seconds: number) =>
      `A picture is good for ${seconds} seconds. A new one keeps what you have typed in the other fields.`,
    fresh: 'Here is a new picture.',
    renewed: 'The time of the last picture was nearly over. Here is a new one.',
    over: 'The time of this picture is over. A new one comes as soon as you go on.',
    busy: 'There are too many requests at the moment. Wait a minute, then ask for another challenge.',
  },
  person: {
    signOut: 'Sign out',
    console: 'Console',
    signedInAs: (email: string) => `Signed in as ${email}`,
  },
};

export type Catalogue = typeof en;
