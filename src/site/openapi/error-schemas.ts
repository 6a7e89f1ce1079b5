/** Describes refusals for OpenAPI, by the shapes of `web/shape.ts`. */

import { siteverifyErrors } from '../../captcha/challenge/captcha.openapi.ts';
import { list, object, type Schema, string } from '../../web/openapi.ts';
import { exchangeErrors } from '../../web/shape.ts';

const errorCodes = list({ enum: [...siteverifyErrors] });

export const errorSchemas: Readonly<Record<string, Schema>> = {
  Errors: object({
    errors: {
      ...list(
        object(
          {
            detail: string,
            status: { type: 'integer', minimum: 400, maximum: 599 },
            source: object({ parameter: string }),
          },
          { optional: ['source'] },
        ),
      ),
      minItems: 1,
    },
  }),
  Message: object({ message: string }),
  PolicyRefusal: object({ status: { const: 0 }, msg: string }),
  SignOnError: object({
    error: { enum: [...exchangeErrors] },
    error_description: string,
  }),
  CaptchaRefusal: object({ ok: { const: false } }),
  SiteverifyRefusal: object({
    success: { const: false },
    'error-codes': { ...errorCodes, minItems: 1 },
  }),
};
