/** The options of both lanes of a server: the hot lane, and the one of all other routes (admission.ts). */

import type { Log } from '../core/log.ts';
import type { AccessLog } from './answer/access-log.ts';
import type { HttpLimits } from './limits/limits.ts';
import type { RenderProblem } from './request/message.ts';

export interface LaneOptions {
  readonly renderProblem: RenderProblem;
  readonly log: Log;
  readonly limits: HttpLimits;
  readonly isClosing: () => boolean;
  readonly shouldProbe: () => boolean;
  readonly shouldEnd: () => boolean;
  readonly onFinished?:
    | ((path: string, status: number, elapsedMs: number | undefined) => void)
    | undefined;
  readonly accessLog?: AccessLog | undefined;
}
