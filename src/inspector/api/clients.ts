import { reading } from './route.ts'

/** Who uses the gateway now. */
export const clients = reading({}, (inspection) => ({ connected: inspection.clients() }))
