/**
 * The page for a visitor whom the gate blocks. It stands on the host of somebody else's site, where nothing else
 * of this service needs to be reachable: so it holds its own style, which its policy allows by hash. It tells
 * a visitor his own address and the way out, and nothing of what made the score.
 */

import { createHash } from 'node:crypto';
import { type Accent, readAccent } from '../../core/accent.ts';
import type { Language } from '../../core/language.ts';
import { renderHtml } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';

const en = {
  title: 'This site blocked your visit',
  reason: 'Your address has a poor reputation.',
  address: 'Your address',
  why: 'Reason',
  because: 'A blocklist or recent reports',
  time: 'Time',
  id: 'Request id',
  removal: 'Request removal',
  known: 'See what is known',
  notYou: 'Not your fault?',
  others: 'Others may have used this address before you.',
  change: 'Turn off a VPN, or try another network.',
  by: (name: string) => `Protected by ${name}`,
};

const fr: typeof en = {
  title: 'Ce site a bloqué votre visite',
  reason: 'Votre adresse a mauvaise réputation.',
  address: 'Votre adresse',
  why: 'Raison',
  because: 'Une liste de blocage ou des signalements récents',
  time: 'Heure',
  id: 'Identifiant de requête',
  removal: 'Demander le retrait',
  known: 'Voir ce qui est connu',
  notYou: 'Vous n’y êtes pour rien ?',
  others: 'D’autres ont pu utiliser cette adresse avant vous.',
  change: 'Coupez un VPN, ou essayez un autre réseau.',
  by: (name: string) => `Protégé par ${name}`,
};

const styleOf = ({
  light,
  dark,
}: Accent) => `:root{color-scheme:light dark;--ground:light-dark(#f2f4f3,#0c131a);--surface:light-dark(#fff,#131d27);--ink:light-dark(#13202d,#e9eef1);--muted:light-dark(#4d5d6a,#a3b2be);--line:light-dark(#d3dad9,#263441);--strong:light-dark(#7b8994,#62737f);--accent:light-dark(${light.accent},${dark.accent});--on:light-dark(${light.on},${dark.on});--bars:light-dark(#a72a2d,#f4928a);--stone:light-dark(#cbd3d4,#2b3946)}
*{box-sizing:border-box;margin:0}body{min-height:100vh;display:flex;flex-direction:column;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{flex:1;width:100%;max-width:29rem;margin:0 auto;padding:clamp(1.25rem,5vh,3.5rem) 1rem 1.5rem;display:grid;align-content:start;gap:1rem}
header{display:grid;justify-items:center;gap:.5rem;text-align:center}svg{width:5rem;height:auto}h1{font-size:1.5rem;line-height:1.2;text-wrap:balance}header p,.rest p{color:var(--muted)}
section{display:grid;gap:1.25rem;padding:1.5rem;background:var(--surface);border:1px solid var(--line);border-radius:10px}
dl>div{display:grid;grid-template-columns:7rem minmax(0,1fr);gap:.75rem;align-items:center;min-height:2.5rem;border-bottom:1px solid var(--line)}dl>div:last-child{border:0}dt{color:var(--muted);font-size:.875rem}dd{font-weight:600;overflow-wrap:anywhere}
nav{display:grid;gap:.5rem}nav a{display:grid;place-items:center;min-height:2.75rem;padding:.5rem 1rem;border:1px solid var(--strong);border-radius:6px;color:var(--ink);font-weight:600;text-decoration:none}nav a:first-child{background:var(--accent);border-color:var(--accent);color:var(--on)}:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.rest{display:grid;gap:.25rem;font-size:.875rem}footer{padding:1rem;border-top:1px solid var(--line);color:var(--muted);font-size:.875rem;text-align:center}`;

const gate =
  '<svg viewBox="0 0 168 184" aria-hidden="true"><path fill="none" stroke="var(--bars)" stroke-width="5" d="M44 40v136M64 30v146M84 26v150M104 30v146M124 40v136M26 60h116M26 90h116M26 120h116M26 150h116"/><path fill="var(--stone)" fill-rule="evenodd" d="M8 180V78a76 76 0 0 1 152 0v102h-18V78a58 58 0 0 0-116 0v102z"/></svg>';

const accentDefault = readAccent('#16416f,#93bfee') as Accent;

interface BlockedVisit {
  readonly language: Language;
  /** Canonical text of the visitor's own address. */
  readonly address: string;
  readonly atMs: number;
  /** The request's id, or the mark that the transport puts it in for. */
  readonly id: string;
}

/** Makes the page for a service at `baseUrl`, where removal is asked for, with the operator's name and accent. */
export function createBlockedPage(options: {
  readonly baseUrl: string;
  readonly siteName?: string | undefined;
  readonly accent?: Accent | undefined;
}) {
  const { baseUrl, siteName = 'Portcullis', accent = accentDefault } = options;
  const style = styleOf(accent);
  const styleHash = createHash('sha256').update(style).digest('base64');
  const name = renderHtml(siteName);

  return {
    /** The headers but for the verdict and what forbids to keep it. */
    headers: [
      ['Content-Type', 'text/html; charset=utf-8'],
      [
        'Content-Security-Policy',
        `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      ],
      ['X-Content-Type-Options', 'nosniff'],
      ['Referrer-Policy', 'no-referrer'],
      ['X-Robots-Tag', 'noindex'],
      ['Vary', 'Accept, Accept-Language'],
    ] as readonly (readonly [name: string, value: string])[],
    render(visit: BlockedVisit): string {
      const { language, address, atMs, id } = visit;
      const text = language === 'fr' ? fr : en;
      const facts = [
        [text.address, address],
        [text.why, text.because],
        [text.time, formatFor(language).moment(atMs)],
        [text.id, id],
      ];
      const rows = facts
        .map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`)
        .join('');
      const links = `<a href="${baseUrl}/removal?address=${address}">${text.removal}</a><a href="${baseUrl}/ip/${address}">${text.known}</a>`;
      return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${text.title}</title><style>${style}</style></head><body><main><header>${gate}<h1>${text.title}</h1><p>${text.reason}</p></header><section><dl>${rows}</dl><nav aria-label="${text.removal}">${links}</nav></section><div class="rest"><strong>${text.notYou}</strong><p>${text.others}</p><p>${text.change}</p></div></main><footer>${text.by(name)}</footer></body></html>\n`;
    },
  };
}

export type BlockedPage = ReturnType<typeof createBlockedPage>;
