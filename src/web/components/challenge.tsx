/**
 * The challenge inside a form. Its script (`challenge.js`) shows one row and works in the background; the parts
 * of picture and sound stand ready in a template, and open in place of the row when they are needed. Without a
 * script they are simply there. A GIF can't be paused, so who asks for less motion is offered the sound first.
 */

import type { Result } from '../../core/result.ts';
import type { Header, Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import { type Html, safeHref } from '../html.ts';
import { frameText, Logo, type PageFrame } from '../layout/layout.tsx';
import { Notice } from './card.tsx';
import { Field } from './form.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';

export interface ChallengeView {
  readonly token: string;
  /** As chosen for the visitor; `silent`: the picture is for browsers that can't work. */
  readonly level: 'silent' | 'easy' | 'hard';
  readonly imageHref: string;
  readonly audioHref: string;
  /** CSS pixels at which the picture is shown where there is room. */
  readonly width: number;
  readonly height: number;
  /** The challenge can be answered for this long. */
  readonly lifetimeSeconds: number;
  /** The page's script asks here what the visitor has to do. */
  readonly startHref: string;
}

/** Work alone, without a picture behind it. */
export interface WorkView {
  readonly startHref: string;
  readonly lifetimeSeconds: number;
}

export const anotherField = 'captcha_new';
/** Field of a button that asks for another way in than the challenge. */
export const alternativeField = 'captcha_beside';

/** Holds all that is asked for, with room for the spaces that people put between. */
const answerLengthMax = 32;

interface PartProps {
  readonly frame: PageFrame;
  readonly challenge: ChallengeView;
}

/**
 * Renders the challenge of a form, which sends `captcha_work`, or `captcha_token` and `captcha_answer`. The
 * button for another picture sends the form with `captcha_new`, and the page comes again with what was typed;
 * the script does it without.
 * @param challenge undefined for a client that has asked for too many
 * @param error of the answer before: then the picture is open from the start, as with `isOpen`
 * @param isAlone nothing else is asked for: the form goes by itself once the work is done
 */
export function ChallengeField({
  frame,
  challenge,
  error,
  isOpen = error !== undefined,
  isAlone = false,
}: {
  readonly frame: PageFrame;
  readonly challenge: ChallengeView | undefined;
  readonly error?: string | undefined;
  readonly isOpen?: boolean | undefined;
  readonly isAlone?: boolean | undefined;
}): Html {
  const text = frameText(frame).challenge;
  if (challenge === undefined) return <Notice tone="warning">{text.busy}</Notice>;
  const panel = <Panel frame={frame} challenge={challenge} error={error} />;
  return (
    <Frame frame={frame} {...challenge} isAlone={isAlone}>
      <input type="hidden" name="captcha_token" value={challenge.token} autocomplete="off" />
      {isOpen ? (
        panel
      ) : (
        <>
          <template>
            <Row frame={frame} />
            {panel}
          </template>
          <noscript>{panel}</noscript>
        </>
      )}
    </Frame>
  );
}

/**
 * Renders a challenge that is work and nothing else: no picture opens in it. The form has another way beside it, by a
 * button named `alternativeField`, for browsers that can't work.
 * @param without says so where no script runs
 */
export function WorkField({
  frame,
  work,
  without,
  error,
}: {
  readonly frame: PageFrame;
  readonly work: WorkView;
  readonly without: string;
  readonly error?: string | undefined;
}): Html {
  return (
    <Frame frame={frame} {...work} level="silent" error={error}>
      <template>
        <Row frame={frame} />
      </template>
      <noscript>
        <Notice>{without}</Notice>
      </noscript>
    </Frame>
  );
}

/** Renders what every challenge has: the fields and the words of its script. */
function Frame({
  frame,
  startHref,
  lifetimeSeconds,
  level,
  isAlone = false,
  error,
  children,
}: WorkView & {
  readonly frame: PageFrame;
  readonly level: ChallengeView['level'];
  readonly isAlone?: boolean;
  readonly error?: string | undefined;
  readonly children: Html;
}): Html {
  const text = frameText(frame).challenge;
  // Enter presses the first button of a form, which must not be the one for another picture.
  return (
    <fieldset
      class="challenge"
      data-start={safeHref(startHref)}
      data-work={frame.assets.url('work.js')}
      data-level={level}
      data-lifetime={lifetimeSeconds}
      data-alone={isAlone || undefined}
      data-words={JSON.stringify(text.script)}
    >
      <legend class="visually-hidden">{text.legend}</legend>
      <button class="visually-hidden" tabindex={-1} aria-hidden="true" />
      <input type="hidden" name="captcha_work" value="" autocomplete="off" />
      <p class="challenge-said" role="status">
        {error}
      </p>
      {children}
      <script src={frame.assets.url('challenge.js')} defer nonce={frame.nonce} />
    </fieldset>
  );
}

/** Says how far the work is; the script fills it. */
function Row({ frame }: { readonly frame: PageFrame }): Html {
  const text = frameText(frame).challenge;
  return (
    <div class="challenge-row">
      <span class="challenge-mark" aria-hidden="true">
        <Icon name="check" />
      </span>
      <span class="challenge-state" role="status">
        <strong>{text.legend}</strong>
        <small />
      </span>
      <button type="button" class="button button-secondary challenge-instead" hidden />
      <Logo frame={frame} />
    </div>
  );
}

/** Picture, sound and the box for the answer. */
function Panel({
  frame,
  challenge,
  error,
}: PartProps & { readonly error: string | undefined }): Html {
  const text = frameText(frame).challenge;
  const tool = (name: string, icon: IconName, label: string, other?: IconName) => (
    <button type="button" class={`button button-quiet challenge-${name} scripted`}>
      <Icon name={icon} />
      {other && <Icon name={other} />}
      <span>{label}</span>
    </button>
  );
  return (
    <div class="challenge-panel">
      <ChallengeStage frame={frame} challenge={challenge} />
      <div class="challenge-body">
        <Field
          id="captcha-answer"
          name="captcha_answer"
          label={text.answer}
          hint={text.answerHint}
          required
          maxLength={answerLengthMax}
          autocomplete="off"
          mono
          error={error}
          focused={error !== undefined}
        />
        <div class="challenge-tools">
          <button
            class="button button-quiet challenge-new"
            name={anotherField}
            value="1"
            formnovalidate
          >
            <Icon name="refresh" />
            <span>{text.another}</span>
          </button>
          {tool('listen', 'sound', text.listen)}
          {tool('look', 'eye', text.look)}
          {tool('pause', 'pause', text.pause, 'play')}
          <Link class="challenge-download" href={spokenHref(frame, challenge)}>
            {text.download}
          </Link>
          <span class="challenge-left" aria-hidden="true" />
        </div>
        <p class="field-hint">{text.expires(challenge.lifetimeSeconds)}</p>
      </div>
    </div>
  );
}

/** French pages have French digits. */
function spokenHref(frame: PageFrame, { audioHref }: ChallengeView): string {
  return frame.language === 'fr' ? audioHref.replace(/wav$/, 'fr.wav') : audioHref;
}

/** The picture at three or two pixels a dot; in its place a still of it, or the player of the sound. */
function ChallengeStage({ frame, challenge }: PartProps): Html {
  const text = frameText(frame).challenge;
  const { width, height, imageHref } = challenge;
  const href = safeHref(imageHref);
  return (
    <div class="captcha-stage">
      <picture>
        <source media="(prefers-reduced-motion: no-preference)" srcset={href} />
        <img
          class="captcha-image"
          src={frame.assets.url('captcha-still.svg')}
          alt={text.imageAlt}
          width={width}
          height={height}
        />
      </picture>
      <canvas class="captcha-frozen" role="img" aria-label={text.frozenAlt} hidden />
      <div class="captcha-choice">
        <p>{text.lessMotion}</p>
        <div class="challenge-media">
          <button type="button" class="button button-secondary challenge-hear scripted">
            <Icon name="sound" />
            <span>{text.listen}</span>
          </button>
          <Link class="button button-secondary" href={href} target="_blank">
            {text.look}
          </Link>
        </div>
      </div>
      <div class="challenge-player" hidden>
        <button type="button" class="button button-secondary challenge-play">
          <Icon name="play" />
          <Icon name="pause" />
          <span>{text.play}</span>
        </button>
        <progress max="1" value="0" aria-label={text.heard} />
      </div>
    </div>
  );
}

// Our own challenge inside a form, as the pages of other modules use it: made for a page, judged
// when the form is sent.

/** Returns whether the form only asks for another picture, so that nothing else in it counts. */
export function asksForAnother(form: Params): boolean {
  return form.has(anotherField);
}

/** An answer that was counted and not yet judged. */
export interface ChallengeAnswer {
  /** `none`: the form has no challenge. Takes the challenge, whatever the answer. */
  judge(): Promise<'none' | 'right' | 'wrong'>;
}

/** The work, or the token of a picture. */
export type StartedChallenge =
  | { readonly level: 'silent'; readonly work: object }
  | { readonly level: 'easy' | 'hard'; readonly token: string };

export interface FormChallenges {
  readonly lifetimeSeconds: number;
  /** For a sign-in by a known browser or from a clean address: no picture, whatever the rates are. */
  readonly signInWork: WorkView;
  /** Fails with `client_limit_exceeded`, and for how long. */
  issue(request: Request): Result<ChallengeView>;
  /** Returns undefined for a client that has asked for too many. */
  make(request: Request): ChallengeView | undefined;
  /**
   * Begins a challenge for the page's script: of work where nothing else is needed, and the page can.
   * Fails as `issue` does.
   */
  start(request: Request, wantsPicture: boolean): Promise<Result<StartedChallenge>>;
  /** Returns the headers of an answer that shows a challenge. */
  headers(request: Request): readonly Header[];
  /**
   * The answer in a form, counted at once and judged when the rest of the form is good: a slip
   * elsewhere wastes no challenge.
   */
  answerIn(
    request: Request,
    form: Params,
    /** `workSuffices`: of a sign-in to which `signInWork` was shown. */
    options?: { readonly workSuffices?: boolean },
  ): ChallengeAnswer | { readonly waitSeconds: number };
}
