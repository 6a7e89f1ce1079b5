/** The front page: what the platform is, a box to look an address up, its two halves, one line of curl. */

import { scoreBand } from '../../contracts/reputation.ts';
import { CodeBlock, Ticks } from '../../web/components/card.tsx';
import { GateDrawing, ScoreScale } from '../../web/components/chart.tsx';
import { LinkButton, LookupForm } from '../../web/components/form.tsx';
import { Icon, type IconName } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText, type Translations } from '../words.ts';

export interface HomePageData {
  /** Base URL of the API, without a slash at the end. */
  readonly secureUrl: string;
  /** Addresses offered under the box; their pages must exist. */
  readonly exampleAddresses?: readonly string[];
  /** Drawn before the gate of the picture, with the scores that they have now. */
  readonly arrivals?: readonly { readonly address: string; readonly score: number }[];
  /** The numbers of the radar; undefined unless everybody may see it. */
  readonly radar?: readonly { readonly value: string; readonly label: string }[] | undefined;
  /** A check as this server answers it now; none where nothing is known. */
  readonly sample?: { readonly address: string; readonly answer: string } | undefined;
  /** No list was loaded and nobody has reported anything. */
  readonly isEmpty?: boolean;
}

function curlLine(secureUrl: string, address: string): string {
  return `curl -H "Key: $PORTCULLIS_KEY" \\\n  "${secureUrl}/api/v2/check?ipAddress=${address}"`;
}

function hero(frame: PageFrame, data: HomePageData, text: Translations): Html {
  const { exampleAddresses: examples = [], arrivals = [] } = data;
  return (
    <section class="hero">
      <div class="wrap hero-row">
        <div class="hero-text">
          <h1>{text.home.title}</h1>
          <p class="lede">{text.home.lede}</p>
          {data.isEmpty && (
            <section class="card">
              <p>
                <strong>{text.home.empty.title}</strong> {text.home.empty.text}
              </p>
              <div class="acts">
                <LinkButton label={text.home.empty.console} href="/admin" />
                {frame.links.docs && (
                  <LinkButton
                    label={text.home.empty.steps}
                    href={frame.links.docs}
                    kind="secondary"
                  />
                )}
              </div>
            </section>
          )}
          <LookupForm id="home-lookup" action={frame.lookupAction ?? '/ip'} text={text} />
          {examples.length > 0 && (
            <p class="hero-examples">
              <span>{text.lookup.examples}</span>
              {examples.map((address) => (
                <Link class="mono" href={`/ip/${address}`}>
                  {address}
                </Link>
              ))}
            </p>
          )}
        </div>
        <div class="hero-picture" aria-hidden="true">
          <GateDrawing id="hero-gate" closed={0.36} className="hero-gate" />
          {arrivals.length > 0 && (
            <ul class="arrivals">
              {arrivals.map(({ address, score }) => (
                <li>
                  <span class="mono">{address}</span>
                  <strong class={`band-${scoreBand(score)}`}>{score}</strong>
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
    </section>
  );
}

function radarStrip(
  href: string,
  numbers: NonNullable<HomePageData['radar']>,
  text: Translations,
): Html {
  const { title, link } = text.home.radar;
  return (
    <section class="wrap section strip">
      <div class="strip-head">
        <h2>{title}</h2>
        <Link href={href}>{link}</Link>
      </div>
      <dl>
        {numbers
          .filter(({ value }) => value !== '0')
          .map(({ value, label }) => (
            <div>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

interface Half {
  readonly icon: IconName;
  readonly words: Translations['home']['reputation'];
  /** The page of the button, and that of the link beside it. */
  readonly hrefs: readonly [string, string];
}

function halfCard({ icon, words, hrefs }: Half): Html {
  return (
    <section class="card half">
      <h3 class="half-title">
        <Icon name={icon} />
        <span>{words.title}</span>
      </h3>
      <Ticks points={words.points} />
      <p class="acts">
        <LinkButton label={words.action} href={hrefs[0]} />
        <LinkButton label={words.more} href={hrefs[1]} kind="quiet" />
      </p>
    </section>
  );
}

function oneLineAway(
  secureUrl: string,
  { address, answer }: NonNullable<HomePageData['sample']>,
  text: Translations,
): Html {
  return (
    <section class="section section-sunken">
      <div class="wrap">
        <div class="section-intro">
          <h2>{text.home.apiTitle}</h2>
          <p>{text.home.apiText}</p>
        </div>
        <div class="ask">
          <CodeBlock id="curl-line" title="curl" code={curlLine(secureUrl, address)} text={text} />
          <CodeBlock
            id="curl-answer"
            title={text.home.apiAnswer}
            code={answer}
            text={text}
            isSample
          />
        </div>
      </div>
    </section>
  );
}

export function homePage(frame: PageFrame, data: HomePageData): string {
  const text = frameText(frame);
  return renderDocument(frame, {
    title: text.home.title,
    description: text.home.description,
    className: 'page-home',
    hasOwnLookup: true,
    body: (
      <>
        {hero(frame, data, text)}
        {!data.isEmpty &&
          data.radar &&
          frame.links.radar &&
          radarStrip(frame.links.radar, data.radar, text)}
        <section class="wrap section">
          <h2>{text.home.halvesTitle}</h2>
          <div class="halves">
            {halfCard({
              icon: 'shield',
              words: text.home.reputation,
              hrefs: ['/connect', '/feeds'],
            })}
            {halfCard({
              icon: 'person',
              words: text.home.signOn,
              hrefs: ['/docs/sign-in-button', '/docs/sign-on'],
            })}
          </div>
        </section>
        {data.sample && oneLineAway(data.secureUrl, data.sample, text)}
        <section class="wrap section">
          <div class="section-intro">
            <h2>{text.home.scoreTitle}</h2>
          </div>
          <ScoreScale text={text} />
        </section>
      </>
    ),
  });
}
