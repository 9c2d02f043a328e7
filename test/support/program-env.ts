const { PATH, NODE_COMPILE_CACHE } = process.env;

/**
 * The only environment variables that a started program inherits from this process. A test adds the
 * program's settings.
 */
export const programEnv: NodeJS.ProcessEnv = {
  PATH,
  // The folder of the cache for compiled code. The cache halves the time until a program answers
  // requests.
  NODE_COMPILE_CACHE,
};
