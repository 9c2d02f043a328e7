import type { CompiledAction, CompiledParam, CompiledTemplate } from '#contracts/template';

export function paramOf(
  name: string,
  paramLocation: CompiledParam['in'],
  more: Partial<CompiledParam> = {},
): CompiledParam {
  return {
    name,
    wireName: name,
    in: paramLocation,
    style: paramLocation === 'query' ? 'form' : 'simple',
    required: paramLocation === 'path',
    description: '',
    schema: { type: 'string' },
    explode: paramLocation === 'query',
    allowReserved: false,
    resolve: null,
    ...more,
  };
}

/** An action as the registry compiles it. Its schema accepts exactly its parameters. */
export function actionOf(key: string, more: Partial<CompiledAction> = {}): CompiledAction {
  const params = more.params ?? [];
  const required = params.filter((param) => param.required).map(({ name }) => name);
  return {
    key,
    method: 'GET',
    path: '/',
    summary: key,
    description: [{ text: key }],
    risk: 'read',
    scopeParam: null,
    params,
    paramsSchema: {
      type: 'object',
      properties: Object.fromEntries(params.map(({ name, schema }) => [name, schema])),
      required,
      additionalProperties: false,
    },
    body: null,
    disclose: [],
    redact: [],
    responseType: 'json',
    minimumScopes: null,
    disabled: false,
    ...more,
  };
}

export function templateOf(
  actions: readonly CompiledAction[],
  more: Partial<CompiledTemplate> = {},
): CompiledTemplate {
  return {
    key: 'github',
    tier: 'global',
    ownerId: null,
    version: 1,
    title: 'GitHub',
    description: '',
    category: '',
    runtime: 'http',
    server: { url: 'https://api.github.example', variables: [], baseUrlAllowed: false },
    hosts: ['api.github.example'],
    auth: [],
    security: [],
    actions: Object.fromEntries(actions.map((action) => [action.key, action])),
    ...more,
  };
}

const repositoryParams = [paramOf('owner', 'path'), paramOf('repo', 'path')];

/** A small GitHub template, which most tests call. */
export const github = {
  listIssues: actionOf('issues.list', {
    path: '/repos/{owner}/{repo}/issues',
    params: [
      ...repositoryParams,
      paramOf('state', 'query', { schema: { enum: ['open', 'closed'] } }),
    ],
    scopeParam: 'repo',
  }),
  createIssue: actionOf('issues.create', {
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues',
    risk: 'write',
    params: [
      ...repositoryParams,
      paramOf('title', 'body', { required: true }),
      paramOf('labels', 'body', { schema: { type: 'array', items: { type: 'string' } } }),
    ],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    scopeParam: 'repo',
    description: [
      { text: 'Create issue ' },
      { param: 'title' },
      { text: ' in ' },
      { param: 'repo' },
    ],
  }),
  deleteRepository: actionOf('repos.delete', {
    method: 'DELETE',
    path: '/repos/{owner}/{repo}',
    risk: 'delete',
    params: repositoryParams,
    scopeParam: 'repo',
  }),
  getUser: actionOf('users.get', {
    path: '/users/{name}',
    params: [paramOf('name', 'path')],
    scopeParam: 'name',
  }),
  getMe: actionOf('users.me', { path: '/users/me' }),
  postMessage: actionOf('messages.post', {
    method: 'POST',
    path: '/messages',
    risk: 'write',
    params: [paramOf('channel', 'body', { required: true }), paramOf('text', 'body')],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    scopeParam: 'channel',
  }),
};
