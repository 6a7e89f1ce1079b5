/**
 * The motion CAPTCHA inside a page: picture, sound, and (in a form) the box for the answer. A GIF
 * can't be paused, so who asks for less motion gets a still and a way to the picture first.
 */

import type { Result } from '../../core/result.ts';
import type { Header, Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import { type Html, safeHref } from '../html.ts';
import type { Catalogue } from '../language.ts';
import { frameText, type PageFrame } from '../layout/layout.tsx';
import { Notice } from './card.tsx';
import { Field } from './form.tsx';
import { Icon } from './icon.tsx';
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
  /** The page's script gets another challenge here: `{"token","img","expires_in"}`. */
  readonly newHref: string;
  /** The page's script asks here what the visitor has to do. */
  readonly startHref: string;
}

/** Field of the button for another picture. */
export const anotherField = 'captcha_new';

/** As long as anything that is asked for, with room for the spaces that people put between. */
const answerLengthMax = 32;

/** @param ownTab the picture of the choice leaves the form that it stands in alone */
export function ChallengeStage({
  frame,
  challenge,
  ownTab = false,
}: {
  readonly frame: PageFrame;
  readonly challenge: ChallengeView;
  readonly ownTab?: boolean | undefined;
}): Html {
  const { challenge: text } = frameText(frame);
  const { width, height } = challenge;
  const href = safeHref(challenge.imageHref);
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
        <Link class="button button-secondary" href={href} target={ownTab ? '_blank' : undefined}>
          {text.showPicture}
        </Link>
      </div>
    </div>
  );
}

export function ChallengeSound({
  frame,
  challenge,
}: {
  readonly frame: PageFrame;
  readonly challenge: ChallengeView;
}): Html {
  const { challenge: text } = frameText(frame);
  return (
    <div class="captcha-sound">
      <p class="captcha-sound-title">
        <Icon name="sound" />
        <span id="captcha-sound">{text.soundTitle}</span>
      </p>
      <p class="field-hint">{text.soundHint}</p>
      <audio
        controls
        preload="none"
        src={safeHref(challenge.audioHref)}
        aria-labelledby="captcha-sound"
      />
    </div>
  );
}

/** Returns the script's messages as attributes. */
function sayings({ challenge: text }: Catalogue) {
  return {
    'data-fresh': text.fresh,
    'data-renewed': text.renewed,
    'data-over': text.over,
    'data-busy': text.busy,
  };
}

/**
 * Renders the challenge of a form, which sends `captcha_token` and `captcha_answer`. The button for another picture sends the form with
 * `captcha_new`, and the page comes again with what was typed; its script, `challenge.js`, does it without.
 * @param challenge undefined for a client that has asked for too many
 */
export function ChallengeField({
  frame,
  challenge,
  error,
}: {
  readonly frame: PageFrame;
  readonly challenge: ChallengeView | undefined;
  readonly error?: string | undefined;
}): Html {
  const text = frameText(frame);
  if (challenge === undefined) return <Notice tone="warning">{text.challenge.busy}</Notice>;
  const { newHref, lifetimeSeconds } = challenge;
  // Enter presses the first button of a form, which must not be the one for another picture.
  return (
    <fieldset
      class="challenge"
      data-new={safeHref(newHref)}
      data-lifetime={lifetimeSeconds}
      {...sayings(text)}
    >
      <legend>{text.challenge.legend}</legend>
      <button class="visually-hidden" tabindex={-1} aria-hidden="true" />
      <input type="hidden" name="captcha_token" value={challenge.token} autocomplete="off" />
      <ChallengeStage frame={frame} challenge={challenge} ownTab />
      <div class="challenge-tools">
        <button
          class="button button-quiet challenge-new"
          name={anotherField}
          value="1"
          formnovalidate
        >
          <Icon name="refresh" />
          <span>{text.challenge.another}</span>
        </button>
        <p class="field-hint">{text.challenge.expires(lifetimeSeconds)}</p>
      </div>
      <p class="challenge-said" role="status" />
      <ChallengeSound frame={frame} challenge={challenge} />
      <AnswerField frame={frame} name="captcha_answer" error={error} />
      <script src={frame.assets.url('challenge.js')} defer nonce={frame.nonce} />
    </fieldset>
  );
}

export function AnswerField({
  frame,
  name,
  error,
}: {
  readonly frame: PageFrame;
  readonly name: string;
  readonly error?: string | undefined;
}): Html {
  const text = frameText(frame);
  return (
    <Field
      id="captcha-answer"
      name={name}
      label={text.challenge.answer}
      hint={text.challenge.answerHint}
      required
      maxLength={answerLengthMax}
      autocomplete="off"
      mono
      error={error}
    />
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
  answerIn(request: Request, form: Params): ChallengeAnswer | { readonly waitSeconds: number };
}
