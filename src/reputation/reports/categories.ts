/** The abuse categories 1 to 23, with the numbers that AbuseIPDB made a convention. */

export const categoryNames = [
  'DNS Compromise',
  'DNS Poisoning',
  'Fraud Orders',
  'DDoS',
  'FTP Brute-Force',
  'Ping of Death',
  'Phishing',
  'Fraud VoIP',
  'Open Proxy',
  'Web Spam',
  'Email Spam',
  'Blog Spam',
  'VPN IP',
  'Port Scan',
  'Hacking',
  'SQL Injection',
  'Spoofing',
  'Brute-Force',
  'Bad Web Bot',
  'Exploited Host',
  'Web App Attack',
  'SSH',
  'IoT Targeted',
] as const;

export const categoryMax = categoryNames.length;
export const categoryFault = `It must be a number from 1 to ${categoryMax}, or a name.`;

/** Categories as a set of bits, bit n for category n. */
export function categoryMask(numbers: readonly number[]): number {
  let mask = 0;
  for (const number of numbers) mask |= 1 << number;
  return mask >>> 0;
}

export function categoriesOf(mask: number): number[] {
  const numbers: number[] = [];
  for (let number = 1; number <= categoryMax; number++)
    if (mask & (1 << number)) numbers.push(number);
  return numbers;
}
