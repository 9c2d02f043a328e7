import type { CompiledAction } from '#contracts/template';
import { actionPath, actionQuery, invalidParam } from '#templates';
import { exactUrl } from './base-url.ts';
import type { BaseUrl } from './base-url.ts';
import type { Params } from './request.ts';

/** The URL of an action: path parameters filled in, query appended in the template's order. */
export function actionUrl(
  action: CompiledAction,
  params: Params,
  { origin, prefix }: BaseUrl,
): string {
  const path = prefix + actionPath(action, params);
  const query = actionQuery(action, params);
  const url = exactUrl(origin + path + (query === '' ? '' : `?${query}`));
  requireTemplatePath(action, url.pathname.slice(prefix.length));
  return url.href;
}

/** Reads the finished path back against its template: as many segments, and the fixed ones in their places. */
function requireTemplatePath(action: CompiledAction, path: string): void {
  if (action.params.some((param) => param.in === 'path' && param.allowReserved)) return;
  const [template = ''] = action.path.split('?');
  const expected = template.split('/');
  const found = path.split('/');
  const fits =
    expected.length === found.length &&
    expected.every((segment, at) => segment.includes('{') || segment === found[at]);
  if (!fits) throw invalidParam('params', 'would change the path of the request');
}
