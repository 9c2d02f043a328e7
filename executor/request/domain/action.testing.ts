import type { CompiledAction, CompiledParam, CompiledTemplate } from '#contracts/template';

type ParamParts = Pick<CompiledParam, 'name' | 'in'> & Partial<CompiledParam>;

export function paramOf(parts: ParamParts): CompiledParam {
  return {
    wireName: parts.name,
    style: parts.in === 'query' ? 'form' : 'simple',
    required: parts.in === 'path',
    description: '',
    schema: { type: 'string' },
    explode: parts.in === 'query',
    allowReserved: false,
    resolve: null,
    ...parts,
  };
}

export function actionOf(
  parts: Partial<Omit<CompiledAction, 'params'>> & { params?: ParamParts[] },
): CompiledAction {
  const action = {
    key: 'act',
    method: 'GET' as const,
    path: '/things',
    summary: '',
    description: [],
    risk: 'read' as const,
    scopeParam: null,
    paramsSchema: {},
    body: null,
    disclose: [],
    redact: [],
    responseType: 'json' as const,
    minimumScopes: null,
    disabled: false,
    ...parts,
  };
  return { ...action, params: (parts.params ?? []).map(paramOf) };
}

export function templateOf(actions: CompiledAction[]): CompiledTemplate {
  return {
    key: 'acme',
    tier: 'global',
    ownerId: null,
    version: 1,
    title: 'Acme',
    description: '',
    category: '',
    runtime: 'http',
    server: { url: 'https://api.example.com', variables: [], baseUrlAllowed: true },
    hosts: ['api.example.com'],
    auth: [],
    security: [],
    actions: Object.fromEntries(actions.map((action) => [action.key, action])),
  };
}
