/** Sizes of the streams and of the object bucket for files that are enough for most tests. */
export const smallStreams = {
  replicas: 1,
  auditBytesMax: 256 * 1024 * 1024,
  eventsBytesMax: 256 * 1024 * 1024,
  filesBytesMax: 64 * 1024 * 1024,
};
