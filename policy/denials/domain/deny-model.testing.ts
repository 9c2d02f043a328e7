/**
 * A second implementation of the first step of the walk: which deny rules match a request under all
 * its names. It shares no code or types with the product, and is neither fast nor optimised.
 * `deny-space.testing.ts` compares the two implementations.
 */
export interface ModelOperation {
  readonly name: string;
  readonly method: string;
  /** A path with at most one placeholder `{id}`, whose value consists of letters. */
  readonly path: string;
  /** Where the request carries the operation's argument; undefined when the operation has none. */
  readonly argument?: 'path' | 'query q' | 'body to';
  /** Matches the values that the argument may have. */
  readonly schema?: RegExp;
  readonly carriesOtherOperations?: boolean;
}

export interface ModelService {
  readonly name: string;
  readonly template: string;
  readonly writtenBy: 'us' | 'admin' | 'member';
  readonly operations: readonly ModelOperation[];
  /** Set for an MCP server, all of whose tools have this one address. */
  readonly endpoint?: string;
}

export interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Readonly<Record<string, unknown>> | null;
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
 * A name under which deny rules match the request. A part that is undefined is unknown, so every
 * rule matches it.
 */
interface ModelName {
  readonly service: string;
  readonly action: string | ((askedAction: string) => boolean);
  readonly values: readonly string[] | undefined;
  /** Whether the name counts only for rules that write out the host or the credential. */
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
  const address = { service: 'http', action: method, values: [modelHost + path] };
  const secrets = secret === undefined ? [] : [secret, secret.replace('org/', '')];
  const credentials = secrets.map((name) => ({
    service: 'secret',
    action: name,
    values: [modelHost],
  }));
  const others = services.flatMap((service) => namesAtService(service, services, request));
  if (action === undefined) return [address, ...credentials, ...others];
  const injectedNames = [address, ...credentials].map((name) => ({ ...name, isInjected: true }));
  // The names of an action call at its own service
  // (docs/reference/permissions.md#what-a-deny-reaches).
  const ownServiceNames = aliasesOf(action.service).map((service) => ({
    service,
    action: action.name,
    values: action.arg === undefined ? undefined : splitAddressList(action.arg),
  }));
  return [...ownServiceNames, ...injectedNames, ...others];
}

/**
 * The names of the request as an operation of one service on the host: operations that the service
 * lists, and those that the request could be (docs/reference/permissions.md#what-a-deny-reaches).
 */
function namesAtService(
  service: ModelService,
  allServices: readonly ModelService[],
  request: ModelRequest,
): ModelName[] {
  const name = (action: ModelName['action'], values: ModelName['values']) =>
    aliasesOf(service).map((alias) => ({ service: alias, action, values }));
  const tool = request.action?.service.endpoint === undefined ? undefined : request.action.name;
  const isCarrierService = (each: ModelService) =>
    each.endpoint === undefined
      ? findOperations(each, request, 'i').some(
          ({ carriesOtherOperations: carriesOthers }) => carriesOthers === true,
        )
      : tool !== undefined || isAtPath(each.endpoint, request.path, 'i');
  const isListed = allServices.some(
    (each) => each.writtenBy !== 'member' && findOperations(each, request, '').length > 0,
  );
  const isAtCarrier = ({ operations }: ModelService) =>
    operations.some(
      ({ carriesOtherOperations: carriesOthers, path }) =>
        carriesOthers === true && isAtPath(path, request.path, 'i'),
    );
  const isCarrier =
    allServices.some(isCarrierService) || (!isListed && allServices.some(isAtCarrier));
  const isKnownElsewhere = isListed && !isCarrier;

  if (service.endpoint !== undefined) {
    if (tool !== undefined) return name(tool, undefined);
    if (isKnownElsewhere && !isCarrierService(service)) return [];
    const isTool = (askedAction: string) =>
      service.operations.some((each) => each.name === askedAction);
    return name((askedAction) => !isTool(askedAction) || request.method === 'POST', undefined);
  }
  const knownRequests = [request, stripFormat(request)].flatMap((readRequest) =>
    findOperations(service, readRequest, 'i').flatMap((operation) =>
      name(operation.name, argumentsOf(operation, readRequest)),
    ),
  );
  const isUnknownHere = isCarrier
    ? !isCarrierService(service)
    : findOperations(service, request, '').length === 0 && !isKnownElsewhere;
  if (!isUnknownHere) return knownRequests;
  const couldBeAction = (requestedArgument: string) => {
    const operation = service.operations.find((each) => each.name === requestedArgument);
    // A POST may be a batch of any operations.
    if (operation === undefined || isCarrier || request.method === 'POST') return true;
    const isHere = [request, stripFormat(request)].some(({ path }) =>
      isAtPath(operation.path, path, 'i'),
    );
    return isHere || isSameMethod(operation.method, request.method);
  };
  return [...knownRequests, ...name(couldBeAction, undefined)];
}

function aliasesOf({ name, template }: ModelService): string[] {
  return [name, name.replace('org/', ''), template];
}

function findOperations(
  { operations, endpoint }: ModelService,
  { method, path }: ModelRequest,
  regexFlags: string,
): readonly ModelOperation[] {
  if (endpoint !== undefined) return [];
  return operations.filter(
    (operation) =>
      isSameMethod(operation.method, method) && isAtPath(operation.path, path, regexFlags),
  );
}

/**
 * The request without the text after the last dot of its path, which some servers read as the
 * format of the answer.
 */
function stripFormat(request: ModelRequest): ModelRequest {
  return { ...request, path: request.path.replace(/\.json$/, '') };
}

function isAtPath(template: string, path: string, regexFlags: string): boolean {
  const source = template
    .split('{id}')
    .map((part) => RegExp.escape(part))
    .join('[^/]+');
  return new RegExp(`^${source}$`, regexFlags).test(path);
}

function isSameMethod(one: string, other: string): boolean {
  const plainMethodOf = (method: string) => (method === 'HEAD' ? 'GET' : method);
  return plainMethodOf(one) === plainMethodOf(other);
}

function argumentsOf(
  { argument, schema, path }: ModelOperation,
  request: ModelRequest,
): string[] | undefined {
  const givenValues =
    argument === 'path'
      ? [decodeURIComponent(request.path.slice(path.indexOf('{id}')))]
      : argument === 'query q'
        ? findValuesByName(request.query, 'q')
        : argument === 'body to'
          ? findValuesByName(request.body ?? {}, 'to')
          : [];
  const values = givenValues.flatMap((each) =>
    typeof each === 'string' ? splitAddressList(each) : [undefined],
  );
  if (values.length === 0 || values.includes(undefined)) return undefined;
  const isPossible = (value: string) => schema?.test(foldText(value)) ?? true;
  if (!values.every((value) => isPossible(value ?? ''))) return undefined;
  // Some servers read query parameters from the body, and body parameters from the query.
  const valuesInBody = argument === 'query q' ? findValuesByName(request.body ?? {}, 'q') : [];
  const valuesInQuery = argument === 'body to' ? findValuesByName(request.query, 'to') : [];
  const others = [...valuesInBody, ...valuesInQuery].filter((each) => typeof each === 'string');
  return [...(values as string[]), ...others];
}

function findValuesByName(from: Readonly<Record<string, unknown>>, name: string): unknown[] {
  return Object.entries(from)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value);
}

/** A list of addresses may be written as one text. */
function splitAddressList(text: string): string[] {
  return text.split(',');
}

/**
 * The text without what does not distinguish values: letter case, `.git`, and blanks around the
 * text.
 */
function foldText(text: string): string {
  return text
    .replaceAll('%20', ' ')
    .split('/')
    .map((part) =>
      part
        .trim()
        .toLowerCase()
        .normalize('NFKC')
        .replace(/\.git$/, ''),
    )
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
  return (
    values === undefined ||
    wantedArgument === '*' ||
    values.some((value) => matchesArgument(wantedArgument, value))
  );
}

/**
 * Whether the rule writes out the host, or names the secret or its host
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
