-- CreateTable
CREATE TABLE "clock_advances" (
    "organisation_id" UUID NOT NULL,
    "started_from" TIMESTAMPTZ(6) NOT NULL,
    "target" TIMESTAMPTZ(6) NOT NULL,
    "performed" INTEGER NOT NULL DEFAULT 0,
    "raised" INTEGER NOT NULL DEFAULT 0,
    "set_aside" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "moved_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(6),

    CONSTRAINT "clock_advances_pkey" PRIMARY KEY ("organisation_id")
);

-- AddForeignKey
ALTER TABLE "clock_advances" ADD CONSTRAINT "clock_advances_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: the checks and the partial index.

ALTER TABLE "clock_advances"
  ADD CONSTRAINT "clock_advances_forward" CHECK (target > started_from),
  ADD CONSTRAINT "clock_advances_counts" CHECK (performed >= 0 AND raised >= 0 AND set_aside >= 0);
-- Those that run: what the dispatcher looks for. Of no column that changes on the way, so that counting costs no index.
CREATE INDEX "clock_advances_running" ON "clock_advances" (organisation_id) WHERE finished_at IS NULL;
