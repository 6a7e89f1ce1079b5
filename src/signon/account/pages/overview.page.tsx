/**
 * The overview above the profile, where a sign-in leads: keys, sites and security in figures, each a
 * link to its page, and what is left to do. Figures alone: nothing here is secret, and nothing is sent.
 */

import { Card } from '../../../web/components/card.tsx';
import { Link } from '../../../web/components/link.tsx';
import type { Html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { frameText } from '../../words/words.ts';
import { type AccountSection, sectionPaths } from './parts.page.tsx';
import type { AccountCatalogue } from './words.ts';

export interface Overview {
  /** The API keys that are not revoked. */
  readonly keys: number;
  /** The reads in the hours that the page of keys shows. */
  readonly reads: number;
  readonly writes: number;
  readonly sites: number;
  readonly passkeys: number;
  readonly secondFactor: boolean;
  /** Backup codes that are left; 0 without a second factor. */
  readonly backupCodes: number;
  readonly sessions: number;
}

/** Fewer are mentioned: they would run out when somebody needs them. */
const backupCodesFew = 3;

type Step = keyof AccountCatalogue['overview']['steps'];

const sectionOf: Readonly<Record<Step, AccountSection>> = {
  secondProof: 'security',
  backupCodes: 'security',
  key: 'keys',
};

/** Returns what the account lacks, the most urgent first. */
function stepsOf(seen: Overview): Step[] {
  const steps: Step[] = [];
  if (seen.passkeys === 0 && !seen.secondFactor) steps.push('secondProof');
  if (seen.secondFactor && seen.backupCodes < backupCodesFew) steps.push('backupCodes');
  if (seen.keys === 0) steps.push('key');
  return steps;
}

export function overviewCard(frame: PageFrame, seen: Overview): Html {
  const account = frameText(frame).account;
  const { overview: text } = account;
  const steps = stepsOf(seen);
  return (
    <Card title={text.title} icon="chart" className="overview">
      <dl class="facts">{facts(account, formatFor(frame.language), seen)}</dl>
      <h3>{text.next}</h3>
      {steps.length === 0 ? (
        <p>{text.nothing}</p>
      ) : (
        <ul>
          {steps.map((step) => (
            <li>
              <Link href={sectionPaths[sectionOf[step]]}>{text.steps[step]}</Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function facts({ overview: text, sections }: AccountCatalogue, format: Format, seen: Overview) {
  const count = (section: AccountSection, value: number, note: string) => (
    <div>
      <dt>
        <Link href={sectionPaths[section]}>{sections[section]}</Link>
      </dt>
      <dd>
        {format.number(value)} <span class="fact-note fact-below">{note}</span>
      </dd>
    </div>
  );
  const proofs = seen.passkeys + (seen.secondFactor ? 1 : 0);
  return [
    count('keys', seen.keys, text.use(format.number(seen.reads), format.number(seen.writes))),
    count('sites', seen.sites, text.sites),
    count(
      'security',
      proofs,
      text.proofs(format.number(seen.passkeys), seen.secondFactor, format.number(seen.sessions)),
    ),
  ];
}
