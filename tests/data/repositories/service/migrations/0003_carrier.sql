-- Adds the carrier of a parcel.
ALTER TABLE parcel ADD COLUMN carrier TEXT NOT NULL DEFAULT 'north';
UPDATE parcel SET carrier = 'south' WHERE country = 'IT';
DROP INDEX parcel_country;
CREATE INDEX parcel_carrier ON parcel (carrier, status);
