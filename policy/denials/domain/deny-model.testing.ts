/**
 * A second implementation of the first step of the permission walk: which deny rules match a
 * request under all its names. It shares no code or types with the product, and is neither fast nor
 * optimised. `deny-space.testing.ts` compares the two implementations.
 */
export interface ModelOperation {
  readonly name: string;
  readonly method: string;
  /** A path with at most one placeholder `{id}`, whose value consists of letters. */
  readonly path: string;
  /**
   * Whether calls of the action have an argument: the value of the placeholder, or another value.
   */
  readonly hasArgument?: boolean;
  readonly carriesOtherOperations?: boolean;
}

export interface ModelService {
  readonly name: string;
  readonly template: string;
  readonly writtenBy: 'us' | 'admin' | 'member';
  readonly operations: readonly ModelOperation[];
  /** The one address of all tools. Set only for an MCP server. */
  readonly endpoint?: string;
}

export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  /** The called action; undefined for a call to a full URL (raw HTTP). */
  readonly action?: {
    readonly service: ModelService;
    readonly name: string;
    readonly arg?: string;
  };
  readonly secret?: string;
}

export const modelHost = 'h.example';

/**
 * A name under which deny rules match the request. An undefined part is unknown, so every rule
 * matches it.
 */
interface ModelName {
  readonly service: string;
  readonly action: string | ((askedAction: string) => boolean);
  readonly values: readonly string[] | undefined;
  /** Whether only rules that write out the host or the credential match this name. */
  readonly isInjected?: boolean;
}

export function isDenied(
  services: readonly ModelService[],
  request: ModelRequest,
  denyPattern: string,
): boolean {
  return namesOf(services, request).some((name) => matchesName(denyPattern, name));
}

function namesOf(services: readonly ModelService[], request: ModelRequest): ModelName[] {
  const { action, method, path, secret } = request;
  const address = {
    service: 'http',
    action: method,
    values: readingsOf(path)?.map((each) => modelHost + each),
  };
  const secrets = secret === undefined ? [] : [secret, secret.replace('org/', '')];
  const credentials = secrets.map((name) => ({
    service: 'secret',
    action: name,
    values: [modelHost],
  }));
  const operation = action?.service.operations.find(({ name }) => name === action.name);
  const isJudgedAsRequest =
    action === undefined ||
    action.service.writtenBy === 'member' ||
    operation?.carriesOtherOperations === true;
  const others = services.filter(({ template }) => template !== action?.service.template);
  const requestNames = isJudgedAsRequest ? namesOfRequest(others, request) : [];
  if (action === undefined) return [address, ...credentials, ...requestNames];
  const injectedNames = [address, ...credentials].map((name) => ({ ...name, isInjected: true }));
  const ownNames = aliasesOf(action.service).map((service) => ({
    service,
    action: action.name,
    values: action.arg === undefined ? undefined : [action.arg],
  }));
  return [...ownNames, ...injectedNames, ...requestNames];
}

/**
 * The operations that the request may be. If a built-in template or a template published by an
 * admin lists the request, these are the operations that the services list for it. Otherwise it may
 * be any operation of any service (docs/reference/permissions.md#what-a-deny-reaches).
 */
function namesOfRequest(services: readonly ModelService[], request: ModelRequest): ModelName[] {
  const tool = request.action?.service.endpoint === undefined ? undefined : request.action.name;
  const name = (service: ModelService, action: ModelName['action']) =>
    aliasesOf(service).map((alias) => ({ service: alias, action, values: undefined }));
  if (tool !== undefined) {
    return services
      .filter(({ endpoint }) => endpoint !== undefined)
      .flatMap((each) => name(each, tool));
  }
  const listings = services.map((service) => ({
    service,
    operations: isReadInOneWay(request.path) ? findOperations(service, request) : [],
  }));
  const isCarrier = listings.some(({ operations }) =>
    operations.some(({ carriesOtherOperations }) => carriesOtherOperations === true),
  );
  const isListed = listings.some(
    ({ service, operations }) => service.writtenBy !== 'member' && operations.length > 0,
  );
  return listings.flatMap(({ service, operations }) =>
    isListed && !isCarrier
      ? operations.flatMap((operation) => name(service, operation.name))
      : name(service, () => true),
  );
}

/**
 * Paths that deny rules are compared with; a rule needs to match only one of them. Servers may read
 * a path in several ways. Then these are some paths below the leading part that all servers read
 * alike; undefined when there is no such part.
 */
function readingsOf(path: string): string[] | undefined {
  if (isReadInOneWay(path)) return [path, path.replace(/\/$/, ''), `${path}/`];
  const segments = path.split('/').slice(1);
  const isClear = (segment: string) => segment !== '' && isReadInOneWay(segment);
  const count = segments.findIndex((segment) => !isClear(segment));
  if (count === 0 || path.includes('..')) return undefined;
  const start = `/${segments.slice(0, count).join('/')}`;
  return ['', '/', '/s', '/a/b'].map((end) => start + end);
}

function isReadInOneWay(path: string): boolean {
  return !/;|\/\/|\.\/|\.$|%20\/|%20$|%25/.test(path);
}

function aliasesOf({ name, template }: ModelService): string[] {
  return [name, name.replace('org/', ''), template];
}

/** A request to the endpoint of an MCP server may contain calls of any of its tools. */
function findOperations(
  { operations, endpoint }: ModelService,
  { method, path }: ModelRequest,
): readonly ModelOperation[] {
  if (endpoint !== undefined) {
    const carrier = { name: '', method, path, carriesOtherOperations: true };
    return isAtPath(endpoint, path) ? [carrier] : [];
  }
  const ofMethod = operations.filter((operation) => isSameMethod(operation.method, method));
  const listed = ofMethod.filter((operation) => isAtPath(operation.path, path));
  // If a value consists of several words, the request may also be an operation that has one of
  // these words at the same place in its path.
  const start = path.slice(0, path.lastIndexOf('/') + 1);
  const words = path.slice(start.length).split(/[^A-Za-z0-9_-]+/);
  const ofWords = ofMethod.filter(({ path: template }) =>
    words.some((word) => isAtPath(template, start + word)),
  );
  const isValue = words.length > 1 && listed.every((each) => each.path.endsWith('{id}'));
  const mostFixed = (found: readonly ModelOperation[]) => {
    const fixed = found.filter(({ path: template }) => !template.includes('{id}'));
    return fixed.length > 0 ? fixed : found;
  };
  return isValue && listed.length > 0 ? [...new Set([...listed, ...ofWords])] : mostFixed(listed);
}

function isAtPath(template: string, path: string): boolean {
  const source = template
    .split('{id}')
    .map((part) => RegExp.escape(part))
    .join('[^/]+');
  return new RegExp(`^${source}/?$`, 'i').test(path);
}

function isSameMethod(one: string, other: string): boolean {
  const plainMethodOf = (method: string) => (method === 'HEAD' ? 'GET' : method);
  return plainMethodOf(one) === plainMethodOf(other);
}

/**
 * The text without differences that do not distinguish values: letter case, and blanks around its
 * parts.
 */
function foldText(text: string): string {
  return text
    .replaceAll('%20', ' ')
    .split('/')
    .map((part) => part.trim().toLowerCase().normalize('NFC'))
    .join('/');
}

function matchesName(
  denyPattern: string,
  { service, action, values, isInjected }: ModelName,
): boolean {
  const [wantedService = '', wantedAction = '', ...rest] = denyPattern.split(':');
  const wantedArgument = rest.join(':');
  if (wantedService !== '*' && wantedService !== service) return false;
  if (isInjected === true && !namesHostOrCredential(wantedAction, wantedArgument, service))
    return false;
  const isAnyVerb = service === 'http' && wantedAction === 'ANY';
  const isHead = service === 'http' && wantedAction === 'GET' && action === 'HEAD';
  const matchesAction =
    wantedAction === '*' ||
    isAnyVerb ||
    isHead ||
    (typeof action === 'string' ? action === wantedAction : action(wantedAction));
  if (!matchesAction) return false;
  if (wantedArgument === '*') return true;
  if (values !== undefined) return values.some((value) => matchesArgument(wantedArgument, value));
  return service !== 'http' || mayMatchHost(wantedArgument);
}

/** Whether the pattern matches at least one path of the host. */
function mayMatchHost(wantedArgument: string): boolean {
  const [wantedHost = ''] = wantedArgument.split('/');
  return wantedHost.includes('**') || matchesArgument(wantedHost, modelHost);
}

/**
 * Whether the rule writes out the host, or names the secret or the secret's host
 * (docs/reference/permissions.md#what-a-deny-reaches).
 */
function namesHostOrCredential(action: string, arg: string, service: string): boolean {
  if (service === 'http') return /^[^*/]+\//.test(arg);
  return action !== '*' || !arg.includes('*');
}

function matchesArgument(wantedArgument: string, value: string): boolean {
  const source = foldText(wantedArgument)
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('*') ? '.*' : RegExp.escape(part)));
  return new RegExp(`^${source.join('')}$`, 's').test(foldText(value));
}
