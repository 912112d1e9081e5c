/** `toolcrib/redis`: state in Redis or Valkey, for many replicas. Needs the package `ioredis`. For Node. */
export { type RedisAnnouncementsOptions, redisAnnouncements } from './redis-announcements.ts'
export type { RedisClient } from './redis-client.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
