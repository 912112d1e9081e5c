/** The contract suites: what every searcher, dialect and store must do, for a test runner of your choice. */
export {
  type DialectCheck,
  dialectContract,
  type ProviderVoice,
  type SpokenCall,
  type SpokenTurn,
} from './dialects/dialect-contract.ts'
export { type SearcherCheck, searcherContract } from './search/searcher-contract.ts'
export { type AnnouncementsUnderTest, announcementsContract } from './store/announcements-contract.ts'
export { type StoreCheck, type StoreUnderTest, storeContract } from './store/store-contract.ts'
