import type { CompiledAction, CompiledParam } from '../contracts/template.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import { givenValue, isAbsent, joinedText, ownNames, pairTexts } from './styles.ts';
import { encode, encodeExcept, invalidParam } from './text.ts';

type Params = Readonly<Record<string, JsonValue>>;

/** Reserved characters that keep their meaning inside a path or a query where a parameter says `allowReserved`. */
const reservedInPath = '/:@!$&+,;=';
const reservedInQuery = '/:@!$,;?';

/** As long as the target of a verb or raw call may be; what reads paths is bounded by it. */
const pathCharactersMax = 8_192;

/**
 * The path of an action's request below the base URL. Policy finds other names of the request by
 * it, and the executor sends it. Refuses the values that would make it another operation's path.
 */
export function actionPath(action: CompiledAction, params: Params): string {
  const byName = new Map(
    action.params.filter((param) => param.in === 'path').map((param) => [param.name, param]),
  );
  let left = pathCharactersMax - action.path.length;
  const path = action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const param = byName.get(name);
    const value = givenValue(params, name);
    if (param === undefined || isAbsent(value)) {
      throw invalidParam(name, 'is missing and part of the path');
    }
    return joinedText(value, param, (text) => {
      left -= text.length;
      if (left < 0) {
        throw invalidParam(name, `makes the path longer than ${pathCharactersMax} characters`);
      }
      return pathText(text, param);
    });
  });
  refuseDotSegments(path, byName);
  return path;
}

/** The query of an action's request without `?`, in the template's order; empty when there is none. */
export function actionQuery(action: CompiledAction, params: Params): string {
  const inQuery = action.params.filter((param) => param.in === 'query');
  const declared = new Set(inQuery.map((param) => param.wireName));
  return inQuery
    .flatMap((param) => {
      const value = givenValue(params, param.name);
      if (isAbsent(value)) return [];
      const taken = ownNames(value, param).find((name) => declared.has(name));
      if (taken !== undefined) {
        throw invalidParam(param.name, `holds "${taken}", which is a parameter of its own`);
      }
      return pairTexts(value, param, (text) =>
        param.allowReserved
          ? encodeExcept(text, param.name, reservedInQuery)
          : encode(text, param.name),
      );
    })
    .join('&');
}

/** `/` is data like any other unless the template says otherwise; a dot segment never passes, in any spelling of `/`. */
function pathText(text: string, { name, allowReserved }: CompiledParam): string {
  if (text === '') throw invalidParam(name, 'must not be empty');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw invalidParam(name, 'must not hold control characters');
  const segments = text.split(/[\\/]/);
  if (segments.some(isDotSegment)) {
    throw invalidParam(name, 'must not hold "." or ".." as a part of a path');
  }
  if (!allowReserved) return encode(text, name);
  if (segments.includes(''))
    throw invalidParam(name, 'must not begin or end with "/" or hold "//"');
  return encodeExcept(text, name, reservedInPath);
}

/** Two harmless values side by side, or one behind the dot of style `label`, may still make one. */
function refuseDotSegments(path: string, params: ReadonlyMap<string, unknown>): void {
  const [beforeQuery = ''] = path.split('?');
  const segments = decodeURIComponent(beforeQuery).split(/[\\/]/);
  if (segments.some(isDotSegment)) {
    const name = params.size === 1 ? [...params.keys()].join() : 'params';
    throw invalidParam(name, 'must not make "." or ".." a part of the path');
  }
}

/** Some servers drop `;…` before they resolve dot segments. */
function isDotSegment(segment: string): boolean {
  return /^\.\.?(;|$)/.test(segment);
}
