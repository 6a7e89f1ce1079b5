/**
 * The words that a guesser tries for this service and this account before any list (OWASP ASVS 5, 6.1.2 and 6.2.11): the
 * service's name, the account's mail address, a season or a month with a year. docs/SIGNON.md documents the
 * words. Letters are compared without case, accents and separators, and digits and signs as the letters that they
 * stand for. Pure; passwords have at most 256 characters.
 */

/** Shorter words stand in too many passwords by chance. */
const wordCharsMin = 4;
/** The labels of a host that name no service. */
const commonLabels: ReadonlySet<string> = new Set([
  'accounts',
  'account',
  'auth',
  'login',
  'signin',
  'secure',
  'localhost',
  'internal',
  'example',
  'invalid',
  'test',
  'local',
  'lan',
  'home',
  'corp',
  'intranet',
]);
const product = 'portcullis';

const lookAlikes: Readonly<Record<string, string>> = {
  '0': 'o',
  '2': 'z',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '€': 'e',
  '+': 't',
};

const seasons = [
  'spring',
  'summer',
  'autumn',
  'fall',
  'winter',
  'printemps',
  'ete',
  'automne',
  'hiver',
];
const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
  'janvier',
  'fevrier',
  'mars',
  'avril',
  'mai',
  'juin',
  'juillet',
  'aout',
  'septembre',
  'octobre',
  'novembre',
  'decembre',
];
/** The other ways in which a letter is written. */
const spellings: Readonly<Record<string, string>> = {
  a: 'a4@',
  b: 'b8',
  e: 'e3€',
  g: 'g69',
  i: 'i1!|',
  l: 'l1!|',
  o: 'o0',
  s: 's5$',
  t: 't7+',
  z: 'z2',
};
const spelled = (word: string) =>
  [...word].map((letter) => `[${spellings[letter] ?? letter}]`).join('');
const times = [...seasons, ...months].map(spelled).join('|');
const fullYear = '(?:19|20)[0-9]{2}';
const year = `(?:${fullYear}|[0-9]{2})`;
const gap = '[^a-z0-9]{0,3}';
/** The word must not stand inside a longer one: `waterfall99` names no season. */
const timeThenYear = new RegExp(`(?<![a-z])(?:${times})${gap}${year}(?![0-9])`);
const yearThenTime = new RegExp(`(?<![0-9])${year}${gap}(?:${times})(?![a-z])`);
/** The long words count in the middle of others too: `mySummer2026`. */
const longTimes = [...seasons, ...months]
  .filter(({ length }) => length >= 6)
  .map(spelled)
  .join('|');
const longTimeAndYear = new RegExp(
  `(?:${longTimes})${gap}${fullYear}|${fullYear}${gap}(?:${longTimes})`,
);

/**
 * Returns whether the password holds one of these.
 * @param service words that name the service: hosts, names
 * @param email the account's
 */
export function holdsContext(password: string, service: readonly string[], email: string): boolean {
  const plain = plainOf(password);
  if ([timeThenYear, yearThenTime, longTimeAndYear].some((pattern) => pattern.test(plain)))
    return true;
  const readings = readingsOf(plain);
  return [product, ...service.flatMap(wordsOfService), ...wordsOfAddress(email)]
    .flatMap((word) => readingsOf(plainOf(word)))
    .filter((word) => word.length >= wordCharsMin)
    .some((word) => readings.some((reading) => reading.includes(word)));
}

/** Returns the whole text, a host or a name such as `Acme Cloud`, and each label that names something. */
function wordsOfService(text: string): string[] {
  const labels = text.toLowerCase().split('.');
  // The last label is a top-level domain where there are several.
  const named = labels.length > 1 ? labels.slice(0, -1) : labels;
  return [text, ...named.filter((label) => !commonLabels.has(label))];
}

/** Returns the address, its local part with and without what follows a plus, and the domain without its end. */
function wordsOfAddress(email: string): string[] {
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at);
  const domain = email.slice(at + 1);
  return [email, local, local.split('+', 1)[0]!, domain, ...wordsOfService(domain).slice(1)];
}

/** Returns lower case without accents; separators stay. */
function plainOf(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Returns letters and digits alone: as they are, and with look-alikes read as letters, a 1 as l and as i. */
function readingsOf(plain: string): string[] {
  const as = (one: string) =>
    [...plain]
      .map((char) => (/[1!|]/.test(char) ? one : (lookAlikes[char] ?? char)))
      .join('')
      .replace(/[^\p{L}\p{N}]/gu, '');
  return [...new Set([plain.replace(/[^\p{L}\p{N}]/gu, ''), as('l'), as('i')])];
}
