import type { CompiledAction } from '#contracts/template';
import { actionPath, actionQuery, invalidParam } from '#templates';
import { exactUrl } from './base-url.ts';
import type { BaseUrl } from './base-url.ts';
import type { Params } from './built-request.ts';

/**
 * The URL of an action, with its path parameters filled in and its query parameters in the order of
 * the template.
 */
export function actionUrlOf(
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

/**
 * Throws unless the finished path matches the template's path: the same number of segments, and the
 * fixed segments unchanged.
 */
function requireTemplatePath(action: CompiledAction, path: string): void {
  if (action.params.some((param) => param.in === 'path' && param.allowReserved)) return;
  const [template = ''] = action.path.split('?');
  const templateSegments = template.split('/');
  const segments = path.split('/');
  const isWithinLimits =
    templateSegments.length === segments.length &&
    templateSegments.every((segment, at) => segment.includes('{') || segment === segments[at]);
  if (!isWithinLimits) throw invalidParam('params', 'would change the path of the request');
}
