/**
 * The OpenAPI document as a judge: does an answer of the running server look as the document says?
 * Remembers which documented statuses were seen, so a test can tell what nobody has tried.
 */

import type { IncomingHttpHeaders } from 'node:http';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// biome-ignore lint/suspicious/noExplicitAny: a JSON document, looked into by tests
type Loose = any;

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Contract {
  /** `GET /api/v2/check 200`: all that the document promises. */
  readonly documented: readonly string[];
  readonly seen: ReadonlySet<string>;
  /** Methods of a path's template, in capitals; undefined when the document has no such path. */
  methodsOf(template: string): readonly string[] | undefined;
  /** What is wrong with an answer to `method path`; empty for paths that the document leaves out. */
  judge(method: string, path: string, answer: Answered): string[];
}

export function createContract(document: Loose): Contract {
  const ajv = new Ajv2020.default({ strict: false, allErrors: true, validateFormats: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'api', false, false);
  const templates = Object.keys(document.paths).map((template) => {
    const source = template
      .split(/\{\w+\}/)
      .map((part) => part.replace(/[.*+?^$()|[\]\\]/g, '\\$&'))
      .join('[^/]+');
    return { template, pattern: new RegExp(`^${source}$`) };
  });
  const seen = new Set<string>();
  const operations = Object.entries<Loose>(document.paths).flatMap(([template, item]) =>
    Object.entries<Loose>(item).map(([method, operation]) => ({ template, method, operation })),
  );

  function findTemplate(path: string): string | undefined {
    const plain = path.split('?')[0]!;
    if (document.paths[plain] !== undefined) return plain;
    return templates.find(({ pattern }) => pattern.test(plain))?.template;
  }

  function bodyProblems(pointer: string, response: Loose, answer: Answered): string[] {
    const content = response.content ?? {};
    const type = answer.headers['content-type'];
    if (Object.keys(content).length === 0) {
      return answer.body === '' ? [] : ['a body that is not documented'];
    }
    if (type === undefined || content[type] === undefined) return [`media type ${type}`];
    if (content[type].schema === undefined || !/json/.test(type)) return [];
    const schemaPointer = `${pointer}/content/${escapePointer(type)}/schema`;
    const validate = ajv.compile({ $ref: `api#${schemaPointer}` });
    const texts = type === 'application/x-ndjson' ? answer.body.trim().split('\n') : [answer.body];
    return texts.flatMap((text) =>
      validate(JSON.parse(text))
        ? []
        : [`${ajv.errorsText(validate.errors)} in ${text.slice(0, 200)}`],
    );
  }

  return {
    documented: operations.flatMap(({ template, method, operation }) =>
      Object.keys(operation.responses).map(
        (status) => `${method.toUpperCase()} ${template} ${status}`,
      ),
    ),
    seen,
    methodsOf(template) {
      const item = document.paths[template];
      return item === undefined
        ? undefined
        : Object.keys(item).map((method) => method.toUpperCase());
    },
    judge(method, path, answer) {
      const template = findTemplate(path);
      if (template === undefined) return [];
      const what = `${method} ${template} ${answer.status}`;
      const operation = document.paths[template][method.toLowerCase()];
      if (operation === undefined) {
        return answer.status === 405 ? [] : [`${what}: the document lacks the method`];
      }
      const response = operation.responses[answer.status];
      if (response === undefined) return [`${what}: the document lacks the status`];
      seen.add(what);
      const pointer = `/paths/${escapePointer(template)}/${method.toLowerCase()}/responses/${answer.status}`;
      const missing = Object.entries<Loose>(response.headers ?? {})
        .filter(
          ([name, { required }]) => required && answer.headers[name.toLowerCase()] === undefined,
        )
        .map(([name]) => `the header ${name} is missing`);
      const body = method === 'HEAD' ? [] : bodyProblems(pointer, response, answer);
      return [...missing, ...body].map((problem) => `${what}: ${problem}`);
    },
  };
}

function escapePointer(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
}
