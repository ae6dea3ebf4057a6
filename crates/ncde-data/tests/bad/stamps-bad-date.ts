@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
(2020-02-30,1):(0,1):a
