-- Lines of usage name their meter, whose account and tax type a retry gives them, and a period's quantity is as long as its events make it.
-- AlterTable
ALTER TABLE "invoice_lines" ADD COLUMN     "meter_id" UUID;

-- AlterTable
ALTER TABLE "credit_note_lines" ADD COLUMN     "meter_id" UUID;

-- AddForeignKey
ALTER TABLE "invoice_lines" ADD CONSTRAINT "invoice_lines_organisation_id_meter_id_fkey" FOREIGN KEY ("organisation_id", "meter_id") REFERENCES "meters"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_note_lines" ADD CONSTRAINT "credit_note_lines_organisation_id_meter_id_fkey" FOREIGN KEY ("organisation_id", "meter_id") REFERENCES "meters"("organisation_id", "id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's language cannot say: checks. A sum of quantities of up to twenty digits is no amount.

ALTER TABLE "invoice_lines"
  DROP CONSTRAINT "invoice_lines_amount",
  ADD CONSTRAINT "invoice_lines_amount" CHECK (amount BETWEEN 0 AND 999999999999999.9999 AND unit_price BETWEEN 0 AND 999999999999999.9999
    AND quantity >= 0 AND quantity <> 'NaN'),
  ADD CONSTRAINT "invoice_lines_meter" CHECK (kind = 'usage' OR meter_id IS NULL);
